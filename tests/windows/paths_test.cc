// Names and handles at the boundary to Windows: UTF-8 on our side, UTF-16 and kernel objects on the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "mapping/os_file.h"
#include "mapping/publish.h"
#include "mapping/unique_handle.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace paths_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

const Bytes kContent = support::pattern(5'000, 1);

// Returns the bytes of a u8 literal, which is UTF-8 in every source encoding that a compiler assumes.
std::string utf8(const char8_t* text) { return reinterpret_cast<const char*>(text); }

Status publish(const std::string& target) {
  FATCTX_ASSIGN(const auto pending, PendingFile::create(target, false));
  FATCTX_TRY(pending->file().write_at(0, kContent));
  return pending->publish(false);
}

Bytes content_of(const std::string& path) {
  const auto file = open_for_reading(path);
  if (!file.ok()) return {};
  Bytes read(static_cast<std::size_t>(file.value()->identity().value().size));
  return file.value()->read_at(0, read).ok() ? read : Bytes{};
}

// Returns the name of the only file in a folder, as Windows spells it.
std::wstring only_name_in(const std::string& folder) {
  WIN32_FIND_DATAW found = {};
  const std::wstring all = wide_path(folder).value() + L"\\*";
  const HANDLE search = ::FindFirstFileW(all.c_str(), &found);
  std::wstring name;
  do {
    if ((found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) name += found.cFileName;
  } while (::FindNextFileW(search, &found) != 0);
  (void)::FindClose(search);
  return name;
}

// Shows S5.12.
TEST(Utf8Paths, NamesInAnyScriptAreWrittenAndFoundAsTheyAre) {
  struct Row {
    std::string utf8;
    std::wstring wide;
  };
  const Row rows[] = {
      {utf8(u8"модель 模型.fatctx"), L"\x043c\x043e\x0434\x0435\x043b\x044c \x6a21\x578b.fatctx"},
      {utf8(u8"größe é.fatctx"), L"gr\x00f6\x00df\x0065 \x00e9.fatctx"},
      {utf8(u8"😀.fatctx"), L"\xd83d\xde00.fatctx"},
      {"plain.fatctx", L"plain.fatctx"},
  };
  for (const Row& row : rows) {
    const TempDir folder;
    const std::string path = folder.file(row.utf8);

    ASSERT_TRUE(is_ok(publish(path))) << row.utf8;

    EXPECT_EQ(only_name_in(folder.path()), row.wide) << row.utf8;
    EXPECT_EQ(content_of(path), kContent) << row.utf8;
    EXPECT_TRUE(stat_path(path).value().regular);
  }
}

TEST(Utf8Paths, WhatIsNotUtf8IsAnErrorAndNotAnotherName) {
  const TempDir folder;
  // A lone byte, a zero in two bytes, half a surrogate pair, a missing end, a value above Unicode.
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe6\xa8", "\xf4\x90\x80\x80"}) {
    const std::string path = folder.file(std::string("m") + bad);

    EXPECT_TRUE(fails_with(open_for_reading(path), ErrorCode::kInvalidArgument));
    EXPECT_TRUE(fails_with(stat_path(path), ErrorCode::kInvalidArgument));
    EXPECT_TRUE(fails_with(publish(path), ErrorCode::kInvalidArgument));
  }
  for (const std::string& bad : {std::string(), std::string("a\0b", 3)}) {
    EXPECT_TRUE(fails_with(open_for_reading(bad), ErrorCode::kInvalidArgument));
    EXPECT_TRUE(fails_with(publish(bad), ErrorCode::kInvalidArgument));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(Utf8Paths, TextGoesThereAndBack) {
  const std::string text = utf8(u8"a é ß 模 😀");
  EXPECT_EQ(utf8_text(wide_text(text).value()), text);
  EXPECT_EQ(wide_text("").value(), L"");
  EXPECT_EQ(utf8_text(L""), "");
  EXPECT_EQ(utf8_text(std::wstring(1, L'\xd83d')), "\xef\xbf\xbd") << "half a pair has no UTF-8";
}

TEST(LongPaths, AreNotCutAt260Characters) {
  const TempDir folder;
  std::string path = folder.path();
  for (int depth = 0; depth < 6; ++depth) {
    path += "/" + std::string(100, static_cast<char>('a' + depth));
    ASSERT_NE(::CreateDirectoryW(wide_path(path).value().c_str(), nullptr), 0) << path.size();
  }
  path += "/m.fatctx";
  ASSERT_GT(path.size(), 600U);

  ASSERT_TRUE(is_ok(publish(path)));

  EXPECT_EQ(content_of(path), kContent);
  EXPECT_TRUE(fails_with(open_for_reading(path + ".no"), ErrorCode::kNotFound));
  // std::filesystem does not support paths of this length.
  for (std::size_t end = path.size(); end > folder.path().size(); end = path.find_last_of('/', end - 1)) {
    const std::wstring wide = wide_path(path.substr(0, end)).value();
    EXPECT_TRUE(::DeleteFileW(wide.c_str()) != 0 || ::RemoveDirectoryW(wide.c_str()) != 0);
  }
}

TEST(LongPaths, RelativeOnesAndBothSlashesLeadToTheSameFile) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(publish(folder.file("m"))));
  std::string other = folder.file("m");
  std::replace(other.begin(), other.end(), '/', '\\');
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());

  EXPECT_EQ(content_of("m"), kContent);
  EXPECT_EQ(content_of("./x/../m"), kContent);
  std::filesystem::current_path(before);
  EXPECT_EQ(content_of(other), kContent);
  EXPECT_EQ(stat_path(other).value(), stat_path(folder.file("m")).value());
}

TEST(DeviceNames, AreNoRegularFiles) {
  for (const char* name : {"NUL", "nul", "CON", "PRN", "AUX", "COM1", "LPT1", "\\\\.\\pipe\\fatctx", "\\\\.\\NUL",
                           "//./NUL", "CONIN$", "CONOUT$"}) {
    const auto file = open_for_reading(name);
    EXPECT_TRUE(fails_with(file, ErrorCode::kNotRegularFile)) << name;
    EXPECT_TRUE(fails_with(publish(name), ErrorCode::kNotRegularFile)) << name;
  }
}

TEST(DeviceNames, FoldersOpenAndAreNoRegularFiles) {
  const TempDir folder;
  const auto opened = open_for_reading(folder.path());
  ASSERT_TRUE(is_ok(opened));
  EXPECT_FALSE(opened.value()->identity().value().regular);
  EXPECT_FALSE(stat_path(folder.path()).value().regular);
  std::byte byte{};
  EXPECT_FALSE(opened.value()->read_at(0, {&byte, 1}).ok());
  EXPECT_TRUE(fails_with(PendingFile::create(folder.path(), true), ErrorCode::kNotRegularFile));
}

TEST(UniqueHandle, TakesBothValuesOfWindowsThatAreNoHandle) {
  EXPECT_FALSE(UniqueHandle().valid());
  EXPECT_FALSE(UniqueHandle(nullptr).valid());
  EXPECT_FALSE(UniqueHandle(INVALID_HANDLE_VALUE).valid());
  EXPECT_EQ(UniqueHandle(INVALID_HANDLE_VALUE).reset(), 0) << "nothing is closed";
  EXPECT_EQ(descriptor_of(nullptr), -1);
  EXPECT_EQ(descriptor_of(INVALID_HANDLE_VALUE), -1);
  EXPECT_FALSE(is_handle(handle_of(-1)));
  EXPECT_FALSE(is_handle(handle_of(0)));
}

TEST(UniqueHandle, ClosesOnceAndHandsOver) {
  UniqueHandle event(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
  ASSERT_TRUE(event.valid());
  void* const raw = event.get();
  EXPECT_EQ(handle_of(descriptor_of(raw)), raw) << "an int holds every handle";
  DWORD flags = 0;

  UniqueHandle moved(std::move(event));
  EXPECT_EQ(moved.get(), raw);
  EXPECT_NE(::GetHandleInformation(raw, &flags), 0);
  EXPECT_EQ(moved.reset(), 0);
  EXPECT_EQ(::GetHandleInformation(raw, &flags), 0) << "it is closed";
  EXPECT_FALSE(moved.valid());
}

}  // namespace paths_test
}  // namespace fatctx::mapping
