// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "accept_record.h"

#include <lathe/base/files.h>
#include <lathe/base/id.h>
#include <lathe/base/text.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::session {
namespace {

using Bytes32 = std::array<unsigned char, 32>;
static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32);

const unsigned char* bytesOf(const std::string& text)
{
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string toHex(const unsigned char* data, std::size_t size)
{
    std::string hex(size * 2 + 1, '\0');
    sodium_bin2hex(hex.data(), hex.size(), data, size);
    hex.pop_back();
    return hex;
}

bool fromHex(std::string_view hex, unsigned char* out, std::size_t size)
{
    std::size_t written = 0;
    return hex.size() == size * 2
           && sodium_hex2bin(out, size, hex.data(), hex.size(), nullptr, &written, nullptr) == 0
           && written == size;
}

/// Made beside and linked into place: of two programs that start at once, one wins and both use its
/// key.
Result<void> create(const std::filesystem::path& file)
{
    Bytes32 seed;
    randombytes_buf(seed.data(), seed.size());
    if (auto made = makeFolders(file.parent_path()); !made) {
        return made;
    }
    const std::filesystem::path fresh = file.string() + "." + newUuidV7().substr(24);
    const std::string text = toHex(seed.data(), seed.size()) + "\n";
    sodium_memzero(seed.data(), seed.size());
    if (auto written = writeFileAtomic(fresh, text, 0600); !written) {
        return written;
    }
    const bool linked = ::link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST;
    const int error = errno;
    ::unlink(fresh.c_str());
    if (!linked) {
        return fail(ErrorCode::Io,
                    "cannot create " + file.string() + ": "
                        + std::strerror(error)); // NOLINT(concurrency-mt-unsafe)
    }
    return {};
}

} // namespace

Result<SigningKey> SigningKey::loadOrCreate(const std::filesystem::path& file)
{
    if (sodium_init() < 0) {
        return fail(ErrorCode::Unsupported,
                    "this machine gives no random numbers; accept records cannot be signed");
    }
    struct stat info = {};
    if (::stat(file.c_str(), &info) != 0) {
        if (auto made = create(file); !made) {
            return tl::unexpected(made.error());
        }
        if (::stat(file.c_str(), &info) != 0) {
            return fail(ErrorCode::Io, "cannot read " + file.string());
        }
    }
    if ((info.st_mode & 077U) != 0) {
        return fail(ErrorCode::Refused,
                    "others can read the signing key " + file.string() + "; run chmod 600 on it");
    }
    const auto text = readFile(file, 4096);
    if (!text) {
        return tl::unexpected(text.error());
    }
    Bytes32 seed;
    Bytes32 publicKey;
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret;
    if (!fromHex(trimmed(*text), seed.data(), seed.size())
        || crypto_sign_seed_keypair(publicKey.data(), secret.data(), seed.data()) != 0) {
        return fail(ErrorCode::Parse,
                    file.string() + " holds no signing key; move it away and a new one is made");
    }
    SigningKey key;
    key.m_secret.assign(secret.begin(), secret.end());
    key.m_publicKey = toHex(publicKey.data(), publicKey.size());
    sodium_memzero(seed.data(), seed.size());
    sodium_memzero(secret.data(), secret.size());
    return key;
}

Signature SigningKey::sign(const std::string& message) const
{
    std::array<unsigned char, crypto_sign_BYTES> signature;
    crypto_sign_detached(
        signature.data(), nullptr, bytesOf(message), message.size(), bytesOf(m_secret));
    return {m_publicKey, toHex(signature.data(), signature.size())};
}

bool verifySignature(const std::string& message, const Signature& signature)
{
    Bytes32 key;
    std::array<unsigned char, crypto_sign_BYTES> bytes;
    return sodium_init() >= 0 && fromHex(signature.publicKey, key.data(), key.size())
           && fromHex(signature.signature, bytes.data(), bytes.size())
           && crypto_sign_verify_detached(
                  bytes.data(), bytesOf(message), message.size(), key.data())
                  == 0;
}

} // namespace lathe::session
