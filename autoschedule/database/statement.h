// A prepared statement of SQLite, finalized when it goes. Internal to database.cc.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Statement {
 public:
  Statement(sqlite3* connection, std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    code_ = sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    statement_.reset(statement);
  }
  // SQLITE_OK, or why it could not be prepared or a value not be bound.
  int code() const { return code_; }

  // Values are copied; parameters are numbered from 1.
  void Bind(int parameter, std::string_view text) {
    Note(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  void Bind(int parameter, int64_t value) { Note(sqlite3_bind_int64(statement_.get(), parameter, value)); }
  void Bind(int parameter, double value) { Note(sqlite3_bind_double(statement_.get(), parameter, value)); }
  void BindBlob(int parameter, std::string_view bytes) {
    // A null pointer would bind NULL.
    Note(bytes.empty()
             ? sqlite3_bind_zeroblob(statement_.get(), parameter, 0)
             : sqlite3_bind_blob64(statement_.get(), parameter, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  }
  void Bind(int parameter, const std::vector<double>& values) {
    BindBlob(parameter, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
  }

  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return code_ == SQLITE_OK ? sqlite3_step(statement_.get()) : code_; }

  // Columns of the row, numbered from 0.
  int64_t Integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double Real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  std::string_view Bytes(int column) const {
    const void* bytes = sqlite3_column_blob(statement_.get(), column);
    return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }
  std::string Text(int column) const { return std::string(Bytes(column)); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void Note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int code_ = SQLITE_OK;
};

}  // namespace tilewright
