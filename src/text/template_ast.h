// template ast: the parsed form of a chat template; every node is owned by its Program, so that freeing it never recurses.
#pragma once
#include <deque>
#include <string>
#include <utility>
#include <vector>
#include "text/template_value.h"

namespace tmpl {

enum class ExprKind : uint8_t {
  constant, name, list, tuple, dict, unary, binary, compare, both, either, negate, concat, conditional,
  attribute, item, slice, call, filter, test, space_target
};
enum class Op : uint8_t { add, sub, mul, div, floor_div, mod, pow, plus, minus, eq, ne, lt, le, gt, ge, in, not_in };

struct Expr {
  ExprKind kind = ExprKind::constant;
  Op op = Op::add;
  int line = 1, column = 1;
  std::string name;   // of a name, attribute, filter, test; of a space_target the namespace
  std::string field;  // of a space_target
  Value value;        // of a constant
  Expr *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;  // operands; slice: a[b:c:d]; conditional: a if b else c
  std::vector<Expr*> args;                                      // positional, items, dict keys and values in turn
  std::vector<Op> ops;                                          // of a comparison chain
  std::vector<std::pair<std::string, Expr*>> named;             // keyword arguments
  Expr *rest = nullptr, *named_rest = nullptr;                  // *args, **kwargs
};

enum class StmtKind : uint8_t {
  text, print, branch, loop, assign, assign_block, macro, call_block, filter_block, with, block, scope, break_loop, continue_loop, unsupported
};

struct Stmt {
  StmtKind kind = StmtKind::text;
  int line = 1, column = 1;
  std::string text;                    // of text; the name of a macro or block
  Expr *target = nullptr, *expr = nullptr, *test = nullptr;
  std::vector<Expr*> tests;            // of a branch: if, elif, …
  std::vector<std::vector<Stmt*>> bodies;
  std::vector<Stmt*> otherwise;        // else
  std::vector<Expr*> targets, values;  // of with; parameters and their defaults (for the last ones) of a macro or call block
  bool recursive = false, scoped = false;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Program {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::vector<Stmt*> body;
};

}  // namespace tmpl
