// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// lathe-model-server SCRIPT [PORT]: plays a script of model turns until it is ended.
#include "model_server/model_server.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: lathe-model-server SCRIPT [PORT]\n");
        return 2;
    }
    auto script = lathe::testing::readScript(argv[1]);
    if (!script) {
        std::fprintf(
            stderr, "%s\n%s\n", script.error().message.c_str(), script.error().detail.c_str());
        return 2;
    }
    boost::asio::io_context io;
    lathe::testing::ModelServer server(
        io,
        std::move(*script),
        static_cast<unsigned short>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0));
    std::printf("%s\n", server.baseUrl().c_str());
    std::fflush(stdout);
    io.run();
    return 0;
}
