// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/files.h>
#include <lathe/base/version.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/stall_monitor.h>
#include <lathe/ui/shell/widget_report.h>
#include <lathe/ui/shell/workbench.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QMessageBox>
#include <QSettings>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <time.h>
#include <unistd.h>

namespace {

using namespace lathe;
using namespace lathe::ui;

/// Milliseconds since the kernel started this process; -1 where /proc does not say.
double millisecondsSinceStart()
{
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    const auto name = text.rfind(')');
    if (name == std::string::npos) {
        return -1;
    }
    std::istringstream fields(text.substr(name + 2));
    std::string field;
    for (int i = 3; i < 22; ++i) { // field 22 of proc(5): starttime in clock ticks since boot
        fields >> field;
    }
    double ticks = 0;
    fields >> ticks;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const double nowMs =
        static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
    return nowMs - ticks * 1e3 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Options
{
    std::filesystem::path workspace;
    QString task;
    QString device;
    QString palette;
    QString stallReport;
    QString widgetReport;
    QString worker;
    bool startupTime = false;
};

Options parse(const QCoreApplication& application)
{
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QStringLiteral("Make GPU and CPU kernels faster, together with a language model."));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption workspace(
        QStringLiteral("workspace"),
        QStringLiteral("Folder of the workspace (made when absent)."),
        QStringLiteral("DIR"));
    const QCommandLineOption task(QStringLiteral("task"),
                                  QStringLiteral("Task to open: id, folder or .py file."),
                                  QStringLiteral("REF"));
    const QCommandLineOption device(QStringLiteral("device"),
                                    QStringLiteral("cpu or cuda."),
                                    QStringLiteral("NAME"),
                                    QStringLiteral("cpu"));
    const QCommandLineOption palette(QStringLiteral("palette"),
                                     QStringLiteral("dark or light; otherwise as last time."),
                                     QStringLiteral("NAME"));
    const QCommandLineOption startup(QStringLiteral("startup-time"),
                                     QStringLiteral("Print how long the first window took."));
    const QCommandLineOption stall(
        QStringLiteral("stall-report"),
        QStringLiteral(
            "Write the long waits of the event loop, their causes and stacks to a file."),
        QStringLiteral("FILE"));
    const QCommandLineOption widgets(
        QStringLiteral("widget-report"),
        QStringLiteral("Write what is visible (role, name, place) to a file at every SIGUSR1."),
        QStringLiteral("FILE"));
    const QCommandLineOption worker(QStringLiteral("worker"),
                                    QStringLiteral("Path of lathe-worker; otherwise found."),
                                    QStringLiteral("PATH"));
    const QCommandLineOption demo(
        QStringLiteral("demo"),
        QStringLiteral("A workspace of its own with the starter task open."));
    parser.addOptions({demo, workspace, task, device, palette, startup, stall, widgets, worker});
    parser.process(application);
    Options options;
    const QByteArray named = qgetenv("LATHE_WORKSPACE");
    options.workspace = parser.isSet(workspace)
                            ? std::filesystem::path(parser.value(workspace).toStdString())
                        : named.isEmpty() ? dataFolder() / "workspace"
                                          : std::filesystem::path(named.toStdString());
    options.task = parser.value(task);
    if (parser.isSet(demo)) {
        options.workspace =
            parser.isSet(workspace) ? options.workspace : dataFolder() / "demo-workspace";
        options.task =
            options.task.isEmpty() ? QStringLiteral("starter/rmsnorm_residual") : options.task;
    }
    options.device = parser.value(device);
    options.palette = parser.value(palette);
    options.stallReport = parser.value(stall);
    options.widgetReport = parser.value(widgets);
    options.worker = parser.value(worker);
    options.startupTime = parser.isSet(startup);
    return options;
}

constexpr int kExitCannot = 3; ///< as of `lathe`: this machine cannot do it

bool answersInTerminal(int argc, char** argv)
{
    return std::any_of(argv + 1, argv + argc, [](const char* argument) {
        const std::string_view text(argument);
        return text == "-h" || text == "--help" || text == "--help-all" || text == "-v"
               || text == "--version";
    });
}

/// Qt aborts where it finds none; a platform that was named by hand may not need one.
bool hasDisplay(int argc, char** argv)
{
    const auto set = [](const char* name) { return !qgetenv(name).isEmpty(); };
    return set("DISPLAY") || set("WAYLAND_DISPLAY") || set("QT_QPA_PLATFORM")
           || std::any_of(argv + 1, argv + argc, [](const char* argument) {
                  const std::string_view text(argument);
                  return text == "-platform" || text == "--platform";
              });
}

bool startsDark(const Options& options)
{
    if (!options.palette.isEmpty()) {
        return options.palette != QLatin1String("light");
    }
    const QSettings settings(qs((options.workspace / "workbench.ini").string()),
                             QSettings::IniFormat);
    return settings.value(QStringLiteral("window/dark"), true).toBool();
}

} // namespace

int main(int argc, char** argv)
{
    QCoreApplication::setApplicationName(QStringLiteral("lathe-workbench"));
    QCoreApplication::setApplicationVersion(QString::fromLatin1(lathe::version()));
    if (answersInTerminal(argc, argv) || !hasDisplay(argc, argv)) {
        const QCoreApplication application(argc, argv);
        (void)parse(application); // ends the program with help, version or what it does not know
        std::fputs(
            "lathe-workbench: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); "
            "`lathe` does everything in the terminal\n",
            stderr);
        return kExitCannot;
    }
    QApplication application(argc, argv);
    const Options options = parse(application);
    Theme theme(startsDark(options));
    theme.applyTo(application);

    SessionAdapter adapter;
    session::SessionOptions sessionOptions{.workspace = options.workspace,
                                           .device = options.device.toStdString()};
    if (!options.worker.isEmpty()) {
        sessionOptions.workerCommand = {options.worker.toStdString(), "serve"};
    }
    auto session = session::Session::open(std::move(sessionOptions), adapter.executor(), &adapter);
    if (!session) {
        QMessageBox::critical(nullptr,
                              QStringLiteral("Lathe"),
                              qs(session.error().message + "\n" + session.error().detail));
        return 1;
    }
    int result = 0;
    {
        std::unique_ptr<StallMonitor> stalls;
        if (!options.stallReport.isEmpty()) {
            stalls = std::make_unique<StallMonitor>(options.stallReport.toStdString());
        }
        std::unique_ptr<WidgetReport> widgets;
        if (!options.widgetReport.isEmpty()) {
            widgets = std::make_unique<WidgetReport>(options.widgetReport);
        }
        Workbench workbench(**session, adapter, options.device.toStdString());
        MainWindow window(theme, workbench);
        if (options.startupTime) {
            QObject::connect(&window, &MainWindow::painted, &window, [] {
                std::printf("window shown %.0f ms\n", millisecondsSinceStart());
                std::fflush(stdout);
            });
        }
        window.show();
        workbench.start(options.task);
        result = QApplication::exec();
    }
    session->reset();
    return result;
}
