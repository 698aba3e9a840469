// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

/// The templates of Store, for its own .cpp files: the only ones that see SQLite.
namespace lathe::session {

template <class F>
auto Store::guarded(F&& f) -> decltype(f())
{
    try {
        return f();
    } catch (const SQLite::Exception& exception) {
        return tl::unexpected(explain(exception.getErrorCode(), exception.what()));
    }
}

template <class F>
auto Store::writing(F&& f) -> decltype(f())
{
    return guarded([&]() -> decltype(f()) {
        SQLite::Transaction transaction(*m_database, SQLite::TransactionBehavior::IMMEDIATE);
        auto result = f();
        if (result) {
            indexBlobs();
            transaction.commit();
            m_newBlobs.clear();
        }
        return result;
    });
}

} // namespace lathe::session
