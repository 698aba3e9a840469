// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/process/cancel.h>
#include <lathe/worker/builder.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using protocol::CandidateSpec;

class BuilderTest : public testing::Test
{
protected:
    static void SetUpTestSuite() { s_sandbox = std::make_unique<Sandbox>(Sandbox::detect(false)); }
    static void TearDownTestSuite() { s_sandbox.reset(); }
    BuilderTest()
        : m_folder(makeTempFolder(fs::temp_directory_path(), "lathe-build-").value())
    {
        m_settings.cacheFolder = m_folder / "cache";
        m_settings.includeFolders = {m_folder / "include"};
        fs::create_directories(m_folder / "include");
        writeHeader("int kernel_header();");
    }
    ~BuilderTest() override { fs::remove_all(m_folder); }

    void writeHeader(const std::string& text)
    {
        ASSERT_TRUE(writeFileAtomic(m_folder / "include/k.h", text));
    }
    static CandidateSpec native(std::vector<protocol::CandidateFile> kernels)
    {
        CandidateSpec candidate;
        candidate.files = std::move(kernels);
        candidate.files.push_back({"model_new.py", "class ModelNew: pass\n"});
        return candidate;
    }
    static CandidateSpec exporting(const std::string& body)
    {
        return native(
            {{"kernels/a.cpp",
              "#include <k.h>\nextern \"C\" int __tvm_ffi_answer() { return " + body + "; }\n"}});
    }
    BuildOutcome build(const CandidateSpec& candidate, const std::string& device = "cpu")
    {
        Builder builder(*s_sandbox, m_settings);
        auto outcome = builder.build(candidate, device, -1);
        EXPECT_TRUE(outcome.has_value()) << outcome.error().message << outcome.error().detail;
        return outcome.value_or(BuildOutcome{});
    }
    std::size_t cacheEntries() const
    {
        std::error_code error;
        const auto all = fs::directory_iterator(m_settings.cacheFolder, error);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }
    static std::string firstError(const BuildOutcome& outcome)
    {
        for (const auto& diagnostic : outcome.report.diagnostics) {
            if (diagnostic.severity == "error") {
                return diagnostic.message;
            }
        }
        return {};
    }

    fs::path m_folder;
    BuilderSettings m_settings;
    static std::unique_ptr<Sandbox> s_sandbox;
};

std::unique_ptr<Sandbox> BuilderTest::s_sandbox;

TEST_F(BuilderTest, BuildsALibraryThatRunsAndCachesIt)
{
    const auto first = build(exporting("42"));
    ASSERT_EQ(first.report.status, "ok") << first.report.log;
    EXPECT_FALSE(first.report.cached);
    ASSERT_EQ(first.report.kernels.size(), 1u);
    EXPECT_EQ(first.report.kernels[0].name, "answer");
    void* library = ::dlopen((first.folder / "kernels.so").c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const auto answer = reinterpret_cast<int (*)()>(::dlsym(library, "__tvm_ffi_answer"));
    EXPECT_EQ(answer(), 42);
    ::dlclose(library);
    EXPECT_EQ(readFile(first.folder / "model_new.py").value(), "class ModelNew: pass\n");
    EXPECT_FALSE(fs::exists(first.folder / "kernels"));

    const auto second = build(exporting("42"));
    EXPECT_TRUE(second.report.cached);
    EXPECT_EQ(second.folder, first.folder);
    EXPECT_EQ(second.report.kernels.size(), 1u);
    EXPECT_EQ(cacheEntries(), 1u);
}

TEST_F(BuilderTest, KeyCoversSourcesFlagsAndHeaders)
{
    const auto first = build(exporting("1"));
    EXPECT_NE(build(exporting("2")).folder, first.folder);
    auto flagged = exporting("1");
    flagged.flags = {"-DX=1"};
    EXPECT_NE(build(flagged).folder, first.folder);
    writeHeader("int other_header();");
    const auto otherHeader = build(exporting("1"));
    EXPECT_NE(otherHeader.folder, first.folder);
    EXPECT_FALSE(otherHeader.report.cached);
}

TEST_F(BuilderTest, CompilesUnitsApartAndLinksThem)
{
    const auto outcome = build(native(
        {{"kernels/a.cpp", "int helper(); extern \"C\" int __tvm_ffi_f() { return helper(); }"},
         {"kernels/b.cc", "#include \"part/c.h\"\nint helper() { return kPart; }"},
         {"kernels/part/c.h", "constexpr int kPart = 7;"}}));
    ASSERT_EQ(outcome.report.status, "ok") << outcome.report.log;
    EXPECT_EQ(outcome.report.kernels.size(), 1u);
}

TEST_F(BuilderTest, CompileErrorsAreDiagnosticsAndNeverCached)
{
    for (int round = 0; round < 2; ++round) {
        const auto outcome = build(exporting("missing_name"));
        EXPECT_EQ(outcome.report.status, "failed");
        EXPECT_FALSE(outcome.report.cached);
        ASSERT_FALSE(outcome.report.diagnostics.empty());
        EXPECT_EQ(outcome.report.diagnostics[0].file, "kernels/a.cpp");
        EXPECT_EQ(outcome.report.diagnostics[0].line, 2);
        EXPECT_NE(firstError(outcome).find("missing_name"), std::string::npos);
        EXPECT_EQ(cacheEntries(), 0u);
    }
}

TEST_F(BuilderTest, NamesUndefinedAndMissingSymbols)
{
    const auto undefined = build(native(
        {{"kernels/a.cpp", "int gone();\nextern \"C\" int __tvm_ffi_f()\n{ return gone(); }"}}));
    EXPECT_EQ(undefined.report.status, "failed");
    EXPECT_NE(firstError(undefined).find("gone()"), std::string::npos);
    EXPECT_EQ(undefined.report.diagnostics[0].file, "kernels/a.cpp");
    EXPECT_EQ(undefined.report.diagnostics[0].line, 3);

    const auto none = build(native({{"kernels/a.cpp", "int nothing_exported() { return 1; }"}}));
    EXPECT_EQ(none.report.status, "failed");
    EXPECT_NE(firstError(none).find("LATHE_EXPORT"), std::string::npos);
}

TEST_F(BuilderTest, RefusesWhatCannotBeBuilt)
{
    EXPECT_EQ(build(native({})).report.status, "failed");
    EXPECT_EQ(build(native({{"../evil.cpp", "int x;"}})).report.status, "failed");
    EXPECT_EQ(build(native({{"kernels/a.cpp", "1"}, {"kernels/a.cpp", "2"}})).report.status,
              "failed");
    const auto cuda = build(native({{"kernels/a.cu", ""}}));
    EXPECT_NE(firstError(cuda).find("CPU target"), std::string::npos);
    const auto noNvcc = build(native({{"kernels/a.cu", ""}}), "cuda:0");
    EXPECT_NE(firstError(noNvcc).find("no nvcc"), std::string::npos);
    CandidateSpec empty;
    EXPECT_NE(firstError(build(empty)).find("model_new.py"), std::string::npos);
}

TEST_F(BuilderTest, ModelNewFilesAreOnlyPublished)
{
    CandidateSpec candidate;
    candidate.format = "modelnew";
    candidate.files = {{"model_new.py", "x = 1\n"}};
    const auto outcome = build(candidate);
    ASSERT_EQ(outcome.report.status, "ok");
    EXPECT_TRUE(fs::exists(outcome.folder / "model_new.py"));
    EXPECT_FALSE(fs::exists(outcome.folder / "kernels.so"));
}

TEST_F(BuilderTest, CompilerSeesNothingOfTheMachine)
{
    ASSERT_TRUE(writeFileAtomic(m_folder / "secret", "top secret", 0644));
    const std::string path = (m_folder / "secret").string();
    const auto outcome =
        build(native({{"kernels/a.cpp",
                       "asm(\".incbin \\\"" + path
                           + "\\\"\");\nextern \"C\" int __tvm_ffi_f() { return 0; }"}}));
    EXPECT_EQ(outcome.report.status, "failed");
}

TEST_F(BuilderTest, DeadlineAndCancelEndTheCompiler)
{
    // Template recursion without end in sight: minutes of work.
    const std::string slow =
        "template<int N> struct F { static constexpr unsigned long v = F<N-1>::v + F<N-2>::v; };\n"
        "template<> struct F<0> { static constexpr unsigned long v = 0; };\n"
        "template<> struct F<1> { static constexpr unsigned long v = 1; };\n"
        "constexpr long spin(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i & 3; return "
        "s; }\n"
        "static_assert(spin(100000000000L) != 1);\n";
    auto candidate = native({{"kernels/a.cpp", slow}});
    candidate.flags = {"-fconstexpr-ops-limit=9223372036854775807",
                       "-fconstexpr-loop-limit=2147483647"};
    m_settings.timeoutSeconds = 1;
    const auto late = build(candidate);
    EXPECT_EQ(late.report.status, "failed");
    EXPECT_NE(firstError(late).find("did not finish within 1 s"), std::string::npos);

    m_settings.timeoutSeconds = 120;
    process::CancelSource cancel;
    std::thread later([&] {
        ::usleep(200'000);
        cancel.cancel();
    });
    Builder builder(*s_sandbox, m_settings);
    const auto cancelled = builder.build(candidate, "cpu", cancel.fd());
    later.join();
    ASSERT_FALSE(cancelled.has_value());
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(cacheEntries(), 0u); // no work folder is left either
}

TEST_F(BuilderTest, PrunesTheLeastRecentlyUsed)
{
    const auto old = build(exporting("1"));
    const auto kept = build(exporting("2"));
    const auto hoursAgo = [](int hours) {
        return fs::file_time_type::clock::now() - std::chrono::hours(hours);
    };
    fs::last_write_time(old.folder.parent_path(), hoursAgo(5));
    fs::last_write_time(kept.folder.parent_path(), hoursAgo(9));
    EXPECT_TRUE(build(exporting("2")).report.cached); // used again: now the younger one
    m_settings.maxCacheBytes = 1;
    const auto fresh = build(exporting("3"));
    EXPECT_FALSE(fs::exists(old.folder));
    EXPECT_TRUE(fs::exists(kept.folder)); // in use a moment ago
    EXPECT_TRUE(fs::exists(fresh.folder));
}

TEST_F(BuilderTest, CandidatesUserCanReadWhatWasPublished)
{
    ::umask(0077);
    const auto outcome = build(exporting("1"));
    ::umask(0022);
    ASSERT_EQ(outcome.report.status, "ok") << outcome.report.log;
    struct stat info = {};
    ASSERT_EQ(::stat(outcome.folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0755u);
    ASSERT_EQ(::stat((outcome.folder / "kernels.so").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0644u);
}

TEST_F(BuilderTest, CudaKernelsComeWithTheirRegisters)
{
    const fs::path nvcc = "/usr/local/cuda/bin/nvcc";
    if (::access(nvcc.c_str(), X_OK) != 0) {
        GTEST_SKIP() << "no CUDA toolkit";
    }
    m_settings.nvcc = nvcc;
    const auto outcome = build(
        native({{"kernels/k.cu",
                 "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"
                 "extern \"C\" int __tvm_ffi_f(float* x) { twice<<<1, 32>>>(x); return 0; }\n"}}),
        "cuda:0");
    ASSERT_EQ(outcome.report.status, "ok") << outcome.report.log;
    ASSERT_EQ(outcome.report.kernels.size(), 1u);
    EXPECT_EQ(outcome.report.kernels[0].name, "twice(float*)");
    EXPECT_GT(outcome.report.kernels[0].registers.value_or(0), 0);
}

} // namespace
} // namespace lathe::worker
