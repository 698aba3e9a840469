// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>

namespace lathe::session {

struct Signature
{
    std::string publicKey; ///< hex
    std::string signature; ///< hex
};

/// The user's Ed25519 key (hex seed, mode 0600), made at first use. It proves "this installation
/// measured this", nothing more.
class SigningKey
{
public:
    static Result<SigningKey> loadOrCreate(const std::filesystem::path& file);
    [[nodiscard]] Signature sign(const std::string& message) const;
    [[nodiscard]] const std::string& publicKey() const { return m_publicKey; }

private:
    std::string m_secret; ///< libsodium's 64 bytes
    std::string m_publicKey;
};

bool verifySignature(const std::string& message, const Signature& signature);

} // namespace lathe::session
