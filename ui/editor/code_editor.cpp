// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cuda_lexer.h"

#include <lathe/ui/editor/code_editor.h>
#include <lathe/ui/style/theme.h>

#include <Qsci/qscicommand.h>
#include <Qsci/qscicommandset.h>
#include <Qsci/qscilexerpython.h>
#include <Qsci/qsciscintilla.h>
#include <Qsci/qscistyle.h>

#include <QGuiApplication>
#include <QScreen>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>
#include <map>

namespace lathe::ui {
namespace {

constexpr int kMarkAdded = 1;
constexpr int kMarkRemoved = 2;
constexpr int kMarkChanged = 3;
constexpr int kProblemLine = 4;

int markerOf(LineMark mark)
{
    switch (mark) {
    case LineMark::Added:
        return kMarkAdded;
    case LineMark::Removed:
        return kMarkRemoved;
    case LineMark::Changed:
        return kMarkChanged;
    case LineMark::None:
        break;
    }
    return -1;
}

void paintPython(QsciLexerPython& lexer, const Palette& p)
{
    lexer.setColor(p.keyword, QsciLexerPython::Keyword);
    lexer.setColor(p.typeName, QsciLexerPython::ClassName);
    lexer.setColor(p.text, QsciLexerPython::FunctionMethodName);
    lexer.setColor(p.number, QsciLexerPython::Number);
    lexer.setColor(p.comment, QsciLexerPython::Comment);
    lexer.setColor(p.comment, QsciLexerPython::CommentBlock);
    lexer.setColor(p.typeName, QsciLexerPython::Decorator);
    for (const int style : {QsciLexerPython::DoubleQuotedString,
                            QsciLexerPython::SingleQuotedString,
                            QsciLexerPython::TripleDoubleQuotedString,
                            QsciLexerPython::TripleSingleQuotedString,
                            QsciLexerPython::DoubleQuotedFString,
                            QsciLexerPython::SingleQuotedFString,
                            QsciLexerPython::UnclosedString}) {
        lexer.setColor(p.string, style);
    }
}

void paintCpp(CudaLexer& lexer, const Palette& p)
{
    lexer.setColor(p.keyword, QsciLexerCPP::Keyword);
    lexer.setColor(p.typeName, QsciLexerCPP::KeywordSet2);
    lexer.setColor(p.number, QsciLexerCPP::Number);
    lexer.setColor(p.keyword, QsciLexerCPP::PreProcessor);
    for (const int style : {QsciLexerCPP::Comment,
                            QsciLexerCPP::CommentLine,
                            QsciLexerCPP::CommentDoc,
                            QsciLexerCPP::CommentLineDoc,
                            QsciLexerCPP::PreProcessorComment}) {
        lexer.setColor(p.comment, style);
    }
    for (const int style : {QsciLexerCPP::DoubleQuotedString,
                            QsciLexerCPP::SingleQuotedString,
                            QsciLexerCPP::RawString,
                            QsciLexerCPP::UnclosedString}) {
        lexer.setColor(p.string, style);
    }
}

// Scintilla takes sizes in points only, and a font given in pixels has none.
QFont inPoints(QFont font)
{
    const double dpi = QGuiApplication::primaryScreen() != nullptr
                           ? QGuiApplication::primaryScreen()->logicalDotsPerInchY()
                           : 96;
    font.setPointSizeF(font.pixelSize() * 72.0 / dpi);
    return font;
}

// A key that is bound in Scintilla never reaches the window's actions: these belong to the window.
void releaseWindowKeys(QsciScintilla& view)
{
    for (const int key : {int(Qt::Key_Escape),
                          (Qt::CTRL | Qt::Key_D).toCombined(),
                          (Qt::CTRL | Qt::Key_L).toCombined(),
                          (Qt::CTRL | Qt::SHIFT | Qt::Key_L).toCombined(),
                          (Qt::CTRL | Qt::Key_T).toCombined(),
                          (Qt::CTRL | Qt::SHIFT | Qt::Key_T).toCombined(),
                          (Qt::CTRL | Qt::Key_B).toCombined(),
                          (Qt::CTRL | Qt::Key_I).toCombined(),
                          (Qt::CTRL | Qt::Key_J).toCombined(),
                          (Qt::CTRL | Qt::Key_Return).toCombined(),
                          (Qt::ALT | Qt::Key_Up).toCombined(),
                          (Qt::ALT | Qt::Key_Down).toCombined()}) {
        if (QsciCommand* command = view.standardCommands()->boundTo(key)) {
            if (command->key() == key) {
                command->setKey(0);
            } else {
                command->setAlternateKey(0);
            }
        }
    }
}

} // namespace

Language languageOf(const QString& path)
{
    if (path.endsWith(QLatin1String(".py"))) {
        return Language::Python;
    }
    for (const char* suffix : {".cpp", ".cu", ".h", ".cuh", ".hpp", ".cc", ".c"}) {
        if (path.endsWith(QLatin1String(suffix))) {
            return Language::Cpp;
        }
    }
    return Language::Plain;
}

CodeEditor::CodeEditor(const Theme& theme, Language language, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_language(language)
    , m_view(new QsciScintilla(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_view);
    setFocusProxy(m_view);
    m_view->setFrameShape(QFrame::NoFrame);
    m_view->setUtf8(true);
    m_view->setEolMode(QsciScintilla::EolUnix);
    m_view->setTabWidth(4);
    m_view->setIndentationsUseTabs(false);
    m_view->setAutoIndent(true);
    m_view->setBraceMatching(QsciScintilla::SloppyBraceMatch);
    m_view->setMarginType(0, QsciScintilla::NumberMargin);
    m_view->setMarginType(1, QsciScintilla::SymbolMargin);
    m_view->setMarginWidth(1, 0);
    m_view->setMarginWidth(2, 0);
    m_view->setCaretLineVisible(true);
    m_view->setScrollWidth(400);
    m_view->setScrollWidthTracking(true);
    m_view->setAnnotationDisplay(QsciScintilla::AnnotationIndented);
    m_view->SendScintilla(QsciScintilla::SCI_SETEXTRAASCENT, 1);
    m_view->SendScintilla(QsciScintilla::SCI_SETEXTRADESCENT, 1);
    releaseWindowKeys(*m_view);
    if (language == Language::Python) {
        m_view->setLexer(new QsciLexerPython(m_view));
    } else if (language == Language::Cpp) {
        m_view->setLexer(new CudaLexer(m_view));
    }
    m_view->markerDefine(QsciScintilla::Background, kMarkAdded);
    m_view->markerDefine(QsciScintilla::Background, kMarkRemoved);
    m_view->markerDefine(QsciScintilla::Background, kMarkChanged);
    m_view->markerDefine(QsciScintilla::Background, kProblemLine);
    applyTheme();
    connect(&theme, &Theme::changed, this, &CodeEditor::applyTheme);
    connect(m_view, &QsciScintilla::textChanged, this, [this] {
        if (!m_quiet) {
            Q_EMIT textEdited();
        }
    });
    connect(m_view->verticalScrollBar(), &QScrollBar::valueChanged, this, &CodeEditor::scrolled);
}

CodeEditor::~CodeEditor() = default;

void CodeEditor::applyTheme()
{
    const Palette& p = m_theme.palette();
    const QFont font = inPoints(m_theme.codeFont(13));
    m_view->setColor(p.text);
    m_view->setPaper(p.bg2);
    m_view->setFont(font);
    if (QsciLexer* lexer = m_view->lexer()) {
        lexer->setDefaultColor(p.text);
        lexer->setDefaultPaper(p.bg2);
        lexer->setDefaultFont(font);
        lexer->setFont(font, -1);
        lexer->setPaper(p.bg2, -1);
        lexer->setColor(p.text, -1);
        if (auto* python = qobject_cast<QsciLexerPython*>(lexer)) {
            paintPython(*python, p);
        } else if (auto* cpp = qobject_cast<CudaLexer*>(lexer)) {
            paintCpp(*cpp, p);
        }
    }
    m_view->setMarginsFont(inPoints(m_theme.codeFont(12)));
    m_view->setMarginsForegroundColor(p.text3);
    m_view->setMarginsBackgroundColor(p.bg2);
    m_view->setMarginWidth(0, 44);
    m_view->setMarginWidth(2, 10);
    m_view->setMarginType(2, QsciScintilla::TextMargin);
    m_view->setCaretForegroundColor(p.text);
    m_view->setCaretLineBackgroundColor(m_view->isReadOnly() ? p.bg2 : p.changed);
    m_view->setSelectionBackgroundColor(p.selection);
    m_view->resetSelectionForegroundColor();
    m_view->setMatchedBraceBackgroundColor(p.selection);
    m_view->setMatchedBraceForegroundColor(p.text);
    m_view->setUnmatchedBraceBackgroundColor(p.bg2);
    m_view->setUnmatchedBraceForegroundColor(p.bad);
    m_view->setMarkerBackgroundColor(p.added, kMarkAdded);
    m_view->setMarkerBackgroundColor(p.removed, kMarkRemoved);
    m_view->setMarkerBackgroundColor(p.changed, kMarkChanged);
    m_view->setMarkerBackgroundColor(p.removed, kProblemLine);
    if (!m_problems.empty()) {
        showProblems();
    }
}

void CodeEditor::setText(const QString& text)
{
    m_quiet = true;
    m_problems.clear();
    m_view->clearAnnotations();
    m_view->markerDeleteAll();
    m_view->setText(text);
    m_view->setModified(false);
    m_view->SendScintilla(QsciScintilla::SCI_EMPTYUNDOBUFFER);
    m_quiet = false;
}

void CodeEditor::replaceText(const QString& text)
{
    const int row = firstVisibleRow();
    m_view->SendScintilla(QsciScintilla::SCI_TARGETWHOLEDOCUMENT);
    const QByteArray bytes = text.toUtf8();
    m_view->SendScintilla(QsciScintilla::SCI_REPLACETARGET,
                          static_cast<unsigned long>(bytes.size()),
                          bytes.constData());
    setFirstVisibleRow(row);
}

QString CodeEditor::text() const
{
    return m_view->text();
}

void CodeEditor::setReadOnly(bool readOnly)
{
    m_view->setReadOnly(readOnly);
    m_view->setCaretLineVisible(!readOnly);
}

void CodeEditor::setProblems(const std::vector<EditorProblem>& problems)
{
    if (problems != m_problems) {
        m_problems = problems;
        showProblems();
    }
}

void CodeEditor::showProblems()
{
    m_view->clearAnnotations();
    m_view->markerDeleteAll(kProblemLine);
    const Palette& p = m_theme.palette();
    std::map<int, QString> byLine;
    std::map<int, QString> severities;
    for (const EditorProblem& problem : m_problems) {
        const int line = std::clamp(problem.line, 1, std::max(1, m_view->lines())) - 1;
        QString& text = byLine[line];
        text += (text.isEmpty() ? QString() : QStringLiteral("\n"))
                + (problem.severity == QLatin1String("error") ? QStringLiteral("✗ ")
                                                              : QStringLiteral("⚠ "))
                + problem.message.simplified();
        QString& severity = severities[line];
        severity = severity == QLatin1String("error") ? severity : problem.severity;
    }
    for (const auto& [line, text] : byLine) {
        const bool error = severities[line] == QLatin1String("error");
        const QsciStyle style(-1,
                              QStringLiteral("problem"),
                              error ? p.bad : p.warn,
                              error ? p.removed : p.bg2,
                              inPoints(m_theme.uiFont(12)));
        m_view->annotate(line, text, style);
        if (error) {
            m_view->markerAdd(line, kProblemLine);
        }
    }
}

int CodeEditor::problemCount() const
{
    return static_cast<int>(m_problems.size());
}

QString CodeEditor::problemTextAt(int line) const
{
    return m_view->annotation(line - 1);
}

void CodeEditor::goTo(int line, int column)
{
    m_view->setCursorPosition(std::max(0, line - 1), std::max(0, column - 1));
    m_view->ensureLineVisible(std::max(0, line - 1));
    m_view->setFocus();
}

void CodeEditor::setLineMarks(const std::vector<LineMark>& marks)
{
    m_view->markerDeleteAll();
    for (std::size_t line = 0; line < marks.size(); ++line) {
        if (const int marker = markerOf(marks[line]); marker >= 0) {
            m_view->markerAdd(static_cast<int>(line), marker);
        }
    }
}

void CodeEditor::setFillersBelow(const std::vector<int>& rowsBelowLine)
{
    m_view->clearAnnotations();
    const Palette& p = m_theme.palette();
    const QsciStyle style(
        -1, QStringLiteral("filler"), p.text3, p.bg1, inPoints(m_theme.codeFont(13)));
    m_view->setAnnotationDisplay(QsciScintilla::AnnotationStandard);
    for (std::size_t line = 0; line < rowsBelowLine.size(); ++line) {
        if (rowsBelowLine[line] > 0) {
            // An annotation of n rows is n - 1 line feeds; a lone blank keeps a single row from
            // being empty.
            m_view->annotate(static_cast<int>(line),
                             QStringLiteral(" ")
                                 + QString(rowsBelowLine[line] - 1, QLatin1Char('\n')),
                             style);
        }
    }
}

int CodeEditor::firstVisibleRow() const
{
    return static_cast<int>(m_view->SendScintilla(QsciScintilla::SCI_GETFIRSTVISIBLELINE));
}

void CodeEditor::setFirstVisibleRow(int row)
{
    m_view->SendScintilla(QsciScintilla::SCI_SETFIRSTVISIBLELINE,
                          static_cast<unsigned long>(std::max(0, row)));
}

void CodeEditor::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    m_view->setFocus();
}

} // namespace lathe::ui
