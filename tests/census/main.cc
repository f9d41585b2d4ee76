// krt_census FOLDER TABLE [--write]: compares the credits in FOLDER with the registry and with TABLE, or writes TABLE
// anew from them. Exit status 0 where the census holds, 1 where it does not, 2 where the input cannot be read.

#include <fstream>
#include <iostream>
#include <sstream>

#include "modules/builtin.h"
#include "tests/census/census.h"

namespace {

using namespace krt;

int fail(const Status& status) {
  std::cerr << status.message() << '\n';
  return 2;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

int run(const std::string& folder, const std::string& path, bool write) {
  Result<std::set<census::Form>> credits = census::read_credits(folder);
  if (!credits.ok()) return fail(credits.status());
  Result<std::vector<census::Row>> table = census::parse_table(text_of(path));
  if (!table.ok()) return fail(table.status());
  const std::vector<census::Known> known = census::forms_of(builtin_registry());
  const std::string current = census::table_text(census::updated(known, *credits, *table));
  if (write) {
    std::ofstream(path) << current;
    return 0;
  }
  const std::vector<std::string> problems = census::problems(known, *credits, *table);
  for (const std::string& problem : problems) std::cout << problem << '\n';
  std::cout << known.size() << " kernels and variants, " << credits->size() << " credited, " << problems.size()
            << " problems\n";
  if (current != census::table_text(*table)) std::cout << "the table is out of date: --write brings it up to date\n";
  return problems.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool write = args.size() == 3 && args[2] == "--write";
  if (args.size() != 2 && !write) {
    std::cerr << "usage: krt_census FOLDER TABLE [--write]\n";
    return 2;
  }
  return run(args[0], args[1], write);
}
