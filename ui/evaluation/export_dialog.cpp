// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/evaluation/export_dialog.h>

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QVBoxLayout>

namespace lathe::ui {

ExportDialog::ExportDialog(const QString& candidate, const QString& folder, QWidget* parent)
    : QDialog(parent)
    , m_kernelbench(
          new QRadioButton(QStringLiteral("KernelBench file: one .py that builds itself"), this))
    , m_cpp(new QRadioButton(QStringLiteral("C++ sources: kernels with a loader"), this))
    , m_folder(new QLineEdit(folder, this))
{
    setWindowTitle(QStringLiteral("Export candidate"));
    setMinimumWidth(520);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(10);
    rows->addWidget(new QLabel(candidate, this));
    rows->addWidget(m_kernelbench);
    rows->addWidget(m_cpp);
    m_kernelbench->setChecked(true);
    m_folder->setAccessibleName(QStringLiteral("Folder"));
    auto* place = new QHBoxLayout;
    place->addWidget(m_folder, 1);
    auto* browse = new QPushButton(QStringLiteral("Browse…"), this);
    browse->setAutoDefault(false);
    place->addWidget(browse);
    rows->addLayout(place);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    buttons->addButton(QStringLiteral("Export"), QDialogButtonBox::AcceptRole)->setDefault(true);
    rows->addWidget(buttons);
    connect(browse, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getExistingDirectory(
            this, QStringLiteral("Export below"), m_folder->text());
        if (!chosen.isEmpty()) {
            m_folder->setText(chosen);
        }
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT exportRequested(format(), this->folder());
        accept();
    });
    m_folder->setFocus();
    m_folder->selectAll();
}

QString ExportDialog::format() const
{
    return m_cpp->isChecked() ? QStringLiteral("cpp") : QStringLiteral("kernelbench");
}
QString ExportDialog::folder() const
{
    return m_folder->text();
}

} // namespace lathe::ui
