// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include "commands.h"
#include "unknown_command.h"

#include <lathe/base/version.h>

#include <CLI/CLI.hpp>

namespace lathe::cli {

namespace {

void addOutputOptions(CLI::App& command, OutputOptions& options)
{
    command.add_flag(
        "--json", options.json, "One JSON document on stdout; everything else goes to stderr");
    command
        .add_option("--progress", options.progress, "\"ndjson\": one JSON object a line on stderr")
        ->check(CLI::IsMember({"ndjson"}));
}

void addSessionOptions(CLI::App& command, CommonOptions& options)
{
    command.add_option("--target", options.target, "Where evaluations run")->capture_default_str();
    command.add_option("--device", options.device, "cpu or cuda")->capture_default_str();
    command.add_option(
        "--workspace",
        options.workspace,
        "Folder of the workspace (created when absent; else LATHE_WORKSPACE or the data folder)");
    command.add_flag("--allow-unsandboxed",
                     options.allowUnsandboxed,
                     "Where no sandbox can be had, run candidates with your own rights");
}

void addEvaluationOptions(CLI::App& command, CommonOptions& options)
{
    command.add_option("--tier", options.tier, "How much is checked and measured")
        ->check(CLI::IsMember({"quick", "full", "accept"}))
        ->capture_default_str();
    command.add_option("--until", options.until, "The last phase to run")
        ->check(CLI::IsMember({"build", "verify", "bench", "profile"}))
        ->capture_default_str();
    command
        .add_option(
            "--variant", options.variants, "Only these variants (repeat or separate by commas)")
        ->delimiter(',');
    command
        .add_option("--against", options.against, "Baseline arms (repeat or separate by commas)")
        ->delimiter(',')
        ->check(CLI::IsMember(protocol::baselineArms()));
    command.add_option("--min-time", options.minSeconds, "Least sampling seconds per arm")
        ->check(CLI::NonNegativeNumber);
    command
        .add_option("--max-noise",
                    options.maxNoisePercent,
                    "Sample until the interval is this narrow, per cent")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command.add_option("--timeout", options.timeoutSeconds, "Seconds for one evaluation")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command.add_option("--replay-seed",
                       options.replaySeed,
                       "Inputs from this seed: the result is \"replayed\" and not kept");
}

void addAgentCommands(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<AgentCommandOptions>();
    CLI::App* command = app.add_subcommand("agent", "Let a model write, check and measure kernels");
    command->add_option("TASK", options->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    command->add_option("--provider", options->provider, "Endpoint profile's name, or replay:FILE")
        ->required();
    command->add_option("--from", options->from, "Start from this solution or candidate");
    command->add_option("--turns", options->turns, "Most model turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--cost", options->cost, "Most US dollars")->check(CLI::PositiveNumber);
    command->add_option("--max-time", options->maxSeconds, "Most seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runAgentTask(*options); }; });

    CLI::App* group = app.add_subcommand("trajectory", "Show what an agent run did");
    group->require_subcommand(1);
    auto show = std::make_shared<TrajectoryOptions>();
    CLI::App* showCommand = group->add_subcommand("show", "Every step of a run");
    showCommand->add_option("RUN", show->run, "Run's id, or a trajectory file")->required();
    addSessionOptions(*showCommand, *show);
    addOutputOptions(*showCommand, *show);
    showCommand->callback(
        [show, &invocation] { invocation.run = [show] { return runTrajectoryShow(*show); }; });
}

void addCandidateCommands(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<CandidateOptions>();
    CLI::App* command = app.add_subcommand("export", "Write a candidate for use elsewhere");
    command->add_option("CANDIDATE", options->candidate, "Id, its beginning, or TASK#NUMBER")
        ->required();
    command->add_option("--as", options->as, "kernelbench (one .py file) or cpp (sources)")
        ->required()
        ->check(CLI::IsMember({"kernelbench", "cpp"}));
    command->add_option("--out", options->out, "Folder to write to")->required();
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runExport(*options); }; });

    auto accept = std::make_shared<CandidateOptions>();
    CLI::App* acceptCommand =
        app.add_subcommand("accept", "Accept a candidate's evaluation: signed, reversible");
    acceptCommand->add_option("CANDIDATE", accept->candidate, "Id, its beginning, or TASK#NUMBER")
        ->required();
    acceptCommand->add_option("--note", accept->note, "Why");
    acceptCommand->add_flag("--withdraw", accept->withdraw, "Take the acceptance back");
    addSessionOptions(*acceptCommand, *accept);
    addOutputOptions(*acceptCommand, *accept);
    acceptCommand->callback(
        [accept, &invocation] { invocation.run = [accept] { return runAccept(*accept); }; });
}

void addDemoCommand(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<CommonOptions>();
    CLI::App* command = app.add_subcommand(
        "demo", "A recorded model session replayed; compile, check and measure live");
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runDemo(*options); }; });
}

void addDoctorCommand(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<DoctorOptions>();
    CLI::App* command =
        app.add_subcommand("doctor", "What this machine can do, what is missing, and the fix");
    command->add_option(
        "--python",
        options->python,
        "Interpreter to look at when the worker does not start (else LATHE_PYTHON)");
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runDoctor(*options); }; });
}

void addExports(CLI::App& command, EvalOptions& options)
{
    command.add_option("--export-json", options.exportJson, "Write the result document to a file");
    command.add_option("--export-csv", options.exportCsv, "Write the timings to a file");
    command.add_option("--export-markdown", options.exportMarkdown, "Write tables to a file");
}

void addEvalCommands(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<EvalOptions>();
    CLI::App* eval =
        app.add_subcommand("eval", "Build, verify and benchmark candidates of one task");
    eval->add_option("TASK", options->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    eval->add_option("SOLUTION",
                     options->solutions,
                     "Folders, .py files, shipped solutions' names or candidates' ids");
    eval->add_option("--format", options->format, "native, modelnew or cuda-agent; else recognised")
        ->check(CLI::IsMember({"native", "modelnew", "cuda-agent"}));
    eval->add_option("--accept-if",
                     options->acceptIf,
                     "\"faster\": exit 4 unless faster than the best baseline")
        ->check(CLI::IsMember({"faster"}));
    eval->add_flag("--list", options->list, "Show variants and shipped solutions, run nothing");
    addSessionOptions(*eval, *options);
    addEvaluationOptions(*eval, *options);
    addExports(*eval, *options);
    addOutputOptions(*eval, *options);
    eval->callback([options, &invocation] {
        invocation.run = [options, &invocation] { return runEval(*options, invocation.arguments); };
    });

    auto baseline = std::make_shared<EvalOptions>();
    CLI::App* command =
        app.add_subcommand("baseline", "Health check, speed of light and all baselines of a task");
    command->add_option("TASK", baseline->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    addSessionOptions(*command, *baseline);
    addEvaluationOptions(*command, *baseline);
    addExports(*command, *baseline);
    addOutputOptions(*command, *baseline);
    command->callback([baseline, &invocation] {
        invocation.run = [baseline, &invocation] {
            return runBaseline(*baseline, invocation.arguments);
        };
    });
}

void addExecCommand(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<ExecOptions>();
    CLI::App* command = app.add_subcommand(
        "exec",
        "Run a tool on a candidate with its exact inputs: exec TASK SOLUTION -- TOOL ARGS...");
    command->add_option("TASK", options->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    command
        ->add_option("SOLUTION",
                     options->solution,
                     "Folder, .py file, shipped solution's name or candidate's id")
        ->required();
    command
        ->add_option("TOOL",
                     options->tool,
                     "After --: the tool and its arguments; the arm's command line is appended")
        ->required();
    command
        ->add_option("--format", options->format, "native, modelnew or cuda-agent; else recognised")
        ->check(CLI::IsMember({"native", "modelnew", "cuda-agent"}));
    command->add_option("--variant", options->variants, "The variant whose inputs are used");
    command->add_option("--timeout", options->timeoutSeconds, "Seconds for the tool")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runExec(*options); }; });
}

void addGuiCommand(CLI::App& app, Invocation& invocation)
{
    auto arguments = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("gui", "Open the workbench; what follows goes to it");
    command->prefix_command();
    command->callback([command, arguments, &invocation] {
        *arguments = command->remaining();
        invocation.run = [arguments] { return runGui(*arguments); };
    });
}

void addTaskCommands(CLI::App& app, Invocation& invocation)
{
    CLI::App* group = app.add_subcommand("task", "Check, show, list, make and import tasks");
    group->require_subcommand(1);
    const auto add =
        [&](const char* name, const char* text, int (*run)(const TaskOptions&), bool withTask) {
            auto options = std::make_shared<TaskOptions>();
            CLI::App* command = group->add_subcommand(name, text);
            if (withTask)
                command
                    ->add_option(
                        "TASK", options->task, "Task folder, .py file or the id of a shipped task")
                    ->required();
            addOutputOptions(*command, *options);
            command->callback([options, run, &invocation] {
                invocation.run = [options, run] { return run(*options); };
            });
            return std::pair(command, options);
        };
    const auto [check, checked] =
        add("check",
            "Find every problem of a task, with file and line, and run its reference",
            runTaskCheck,
            true);
    check->add_flag("--static", checked->readOnly, "Read the files only, run nothing");
    check->add_flag("--compile", checked->compile, "Run under torch.compile as well");
    check->add_option("--variant", checked->variants, "Only these variants")->delimiter(',');
    addSessionOptions(*check, *checked);
    add("show", "Reference, variants, solutions and notes of a task", runTaskShow, true);
    add("list", "The tasks found here", runTaskList, false);
    const auto [make, options] =
        add("new", "Make a task folder with a template that runs", runTaskNew, false);
    make->add_option("NAME", options->task, "Name of the task")->required();
    make->add_option("DIR", options->folder, "Folder to make (must not exist)")->required();
    const auto [import, imported] = add("import",
                                        "Make task folders from KernelBench, robust-kbench or "
                                        "CUDA-Agent-Ops files",
                                        runTaskImport,
                                        false);
    import->add_option("FROM", imported->task, "A .py, .jsonl or .parquet file, or a folder")
        ->required();
    import->add_option("DIR", imported->folder, "Folder in which the tasks' folders are made")
        ->required();
}

void addTraceCommands(CLI::App& app, Invocation& invocation)
{
    CLI::App* group = app.add_subcommand(
        "trace", "Read, convert and compare timelines (Chrome/Perfetto JSON, .ltrc)");
    group->require_subcommand(1);
    const auto add = [&](const char* name,
                         const char* text,
                         int (*run)(const TraceOptions&),
                         const char* second) {
        auto options = std::make_shared<TraceOptions>();
        CLI::App* command = group->add_subcommand(name, text);
        command->add_option("FILE", options->first, "Trace file")->required();
        if (second != nullptr)
            command->add_option(second, options->second, "The other file")->required();
        command->add_option("--top", options->top, "Rows of the table")->capture_default_str();
        addOutputOptions(*command, *options);
        command->callback([options, run, &invocation] {
            invocation.run = [options, run] { return run(*options); };
        });
    };
    add("info", "Spans, busy times and the names that cost most", runTraceInfo, nullptr);
    add("convert", "To .json (Chrome trace) or .ltrc (Lathe's own)", runTraceConvert, "OUT");
    add("diff", "What changed between two, by name", runTraceDiff, "OTHER");
}

void addWatchCommand(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<WatchOptions>();
    options->tier = "quick";
    CLI::App* command = app.add_subcommand("watch", "Judge a solution's folder at every save");
    command->add_option("TASK", options->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    command->add_option("DIR", options->folder, "The solution's folder")
        ->required()
        ->check(CLI::ExistingDirectory);
    addSessionOptions(*command, *options);
    addEvaluationOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runWatch(*options); }; });
}

} // namespace

int parseAndRun(int argc, char** argv)
{
    CLI::App app{"Lathe: make PyTorch kernels faster, with numbers that can be believed."};
    app.name("lathe");
    app.set_version_flag("--version", std::string("lathe ") + version());
    app.require_subcommand(1);
    app.fallthrough(false);
    app.footer("Exit codes: 0 correct, 1 not correct, 2 usage or unreadable input, 3 this machine "
               "cannot do it,\n"
               "4 --accept-if not met, 70 internal error, 130 interrupted.");
    Invocation invocation;
    invocation.arguments.assign(argv, argv + argc);
    addEvalCommands(app, invocation);
    addWatchCommand(app, invocation);
    addExecCommand(app, invocation);
    addTaskCommands(app, invocation);
    addAgentCommands(app, invocation);
    addTraceCommands(app, invocation);
    addCandidateCommands(app, invocation);
    addDoctorCommand(app, invocation);
    addDemoCommand(app, invocation);
    addGuiCommand(app, invocation);

    bool json = false;
    for (const std::string& argument : invocation.arguments) {
        if (argument == "--")
            break;
        json = json || argument == "--json";
    }
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        commands.push_back(command->get_name());
    if (const auto hint = unknownCommandHint(commands, invocation.arguments))
        return reportError({ErrorCode::InvalidArgument, *hint, {}}, Phase::Input, json);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::CallForAllHelp& help) {
        return app.exit(help);
    } catch (const CLI::CallForVersion& wanted) {
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        return reportError(
            {ErrorCode::InvalidArgument, error.what(), "Try --help."}, Phase::Input, json);
    }
    return invocation.run ? invocation.run() : int(kUsage);
}

} // namespace lathe::cli
