// The header of SQLite compiles and the library that is linked is of the same version.
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace tilewright {
namespace {

TEST(Sqlite3, HeaderAndLibraryAgree) {
  EXPECT_STREQ(sqlite3_libversion(), SQLITE_VERSION);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "CREATE TABLE t(x INTEGER)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace
}  // namespace tilewright
