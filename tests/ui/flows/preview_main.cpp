// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "fake_session.h"

#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/workbench.h>

#include <QApplication>
#include <QTemporaryDir>
#include <QTimer>

using namespace lathe;
using namespace lathe::ui;

// preview OUT.png dark|light: paints the window over scripted data into a file.
int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    Theme theme(argc < 3 || QString::fromLocal8Bit(argv[2]) != QLatin1String("light"));
    theme.applyTo(application);
    QTemporaryDir folder;
    SessionAdapter adapter;
    lathe::test::FakeSession session(folder.path().toStdString(), adapter.executor(), adapter);
    using protocol::Verdict;
    const auto one = session.seed("naive loop", {}, Verdict::Correct, 0.61);
    session.seed("vector loads", one, Verdict::Wrong, 0);
    const auto three = session.seed("tail mended", one, Verdict::Correct, 1.37);
    const auto six = session.seed("one pass", three, Verdict::Correct, 1.63);
    session.seed("fast rsqrt", three, Verdict::Rejected, 0);
    session.seed("two rows at once", six, Verdict::Correct, 2.31);
    Workbench workbench(session, adapter);
    MainWindow window(theme, workbench);
    window.resize(1680, 1050);
    window.show();
    workbench.start(QString());
    QTimer::singleShot(
        600, &window, [&] { workbench.startAgent(QStringLiteral("replay:demo"), false); });
    QTimer::singleShot(900, &window, [&] {
        std::string run;
        session.runs({}, [&, step = 0](Result<std::vector<session::RunRow>> rows) mutable {
            const auto add = [&](const char* kind,
                                 const char* title,
                                 const char* text,
                                 const char* status,
                                 double seconds) {
                agent::TrajectoryItem item;
                item.run = rows->front().run;
                item.step = ++step;
                item.seq = step;
                item.kind = kind;
                item.title = title;
                item.text = text;
                item.status = status;
                item.seconds = seconds;
                item.candidate = std::string(title) == "benchmark" ? six.text() : "";
                session.stream(item);
            };
            add("tool_result",
                "verify",
                "Wrong in the last 5 elements of each row when the width is not a multiple of 8.",
                "failed",
                1.1);
            add("tool_result",
                "edit_file kernels/rmsnorm.cpp",
                "- for (; i < n - 8; i += 8)\n+ for (; i + 8 <= n; i += 8)\n+ for (; i < n; ++i) "
                "tail(i);",
                "ok",
                0);
            add("tool_result", "verify", "Correct over 4 variants.", "ok", 1.0);
            add("tool_result",
                "profile",
                "Memory bound: 44 % of copy bandwidth, the input is read twice.",
                "ok",
                0.9);
            add("thinking",
                "",
                "Read each row once and keep it in registers;\nhandle two rows so that the weight "
                "is loaded once.\nThen the tail.",
                "",
                0);
            add("tool_result",
                "benchmark",
                "2.31x over compile, expected 1.8x. Candidate 7.",
                "ok",
                3.2);
        });
    });
    QTimer::singleShot(2500, &window, [&] {
        window.grab().save(QString::fromLocal8Bit(argc > 1 ? argv[1] : "preview.png"));
        QApplication::quit();
    });
    return QApplication::exec();
}
