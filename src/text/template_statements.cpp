// template statements: the statement half of the parser.
#include <algorithm>
#include "text/template_parser.h"

namespace tmpl {

Program parse(std::string_view source) { return Parser(tokenize(source)).run(); }

Program Parser::run() {
  program_.body = body();
  return std::move(program_);
}

Stmt* Parser::add(StmtKind kind, const Token& at) {
  Stmt& s = program_.stmts.emplace_back();
  s.kind = kind;
  s.line = at.line;
  s.column = at.column;
  return &s;
}

// Up to a tag in awaited_, which is left as the current token, or to the end of the template.
std::vector<Stmt*> Parser::body() {
  std::vector<Stmt*> out;
  while (!is(TokenKind::end)) {
    const Token& at = take();
    if (at.kind == TokenKind::data) {
      out.push_back(add(StmtKind::text, at));
      out.back()->text = at.text;
    } else if (at.kind == TokenKind::variable_begin) {
      out.push_back(add(StmtKind::print, at));
      Expr* e = tuple(false, true, "", false, false);
      out.back()->values.push_back(e);
      if (!is(TokenKind::variable_end)) fail_here("expected token 'end of print statement', got '" + now().text + "'");
      take();
    } else {
      if (is(TokenKind::name) && std::find(awaited_.begin(), awaited_.end(), now().text) != awaited_.end()) return out;
      out.push_back(statement());
      if (!is(TokenKind::block_end)) fail_here("expected token 'end of statement block', got '" + now().text + "'");
      take();
    }
  }
  return out;
}

// Takes the end of the opening tag; leaves the name of the ending tag as the current token.
std::vector<Stmt*> Parser::body_until(std::initializer_list<std::string_view> ends) {
  const Deeper deeper(*this);
  skip_op(":");
  if (!is(TokenKind::block_end)) fail_here("expected token 'end of statement block', got '" + now().text + "'");
  take();
  std::vector<std::string> outer(ends.begin(), ends.end());
  std::swap(outer, awaited_);
  std::vector<Stmt*> out = body();
  if (is(TokenKind::end)) fail_here("Unexpected end of template. Jinja was looking for the following tags: '" + awaited_.back() + "'.");
  std::swap(outer, awaited_);
  return out;
}

Stmt* Parser::statement() {
  const Token& at = now();
  if (at.kind != TokenKind::name) fail_here("tag name expected");
  take();
  const std::string& tag = at.text;
  if (tag == "if") return branch(at);
  if (tag == "for") return loop(at);
  if (tag == "set") return assign(at);
  if (tag == "macro") return macro(at);
  if (tag == "call") return call_block(at);
  if (tag == "filter") return filter_block(at);
  if (tag == "with") return with(at);
  if (tag == "block") return block(at);
  if (tag == "print") return print(at);
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) fail_at(at, "'" + tag + "' outside loop");
    return add(tag == "break" ? StmtKind::break_loop : StmtKind::continue_loop, at);
  }
  if (tag == "generation") {  // marks the assistant's own text for training; a scope of its own, otherwise nothing
    Stmt* s = add(StmtKind::scope, at);
    const int loops = std::exchange(loops_, 0);
    s->bodies.push_back(body_until({"endgeneration"}));
    loops_ = loops;
    take();
    return s;
  }
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends" || tag == "autoescape") return unsupported(at);
  fail_at(at, "Encountered unknown tag '" + tag + "'.");
}

Stmt* Parser::branch(const Token& at) {
  Stmt* s = add(StmtKind::branch, at);
  while (true) {
    s->tests.push_back(tuple(false, false, "", false, false));
    s->bodies.push_back(body_until({"elif", "else", "endif"}));
    const std::string tag = take().text;
    if (tag == "elif") continue;
    if (tag == "else") {
      s->otherwise = body_until({"endif"});
      take();
    }
    return s;
  }
}

Stmt* Parser::loop(const Token& at) {
  Stmt* s = add(StmtKind::loop, at);
  s->target = assign_target("in", false);
  expect_name("in");
  s->expr = tuple(false, false, "recursive", false, false);
  if (skip_name("if")) s->test = expression();
  s->recursive = skip_name("recursive");
  loops_++;
  s->bodies.push_back(body_until({"endfor", "else"}));
  loops_--;
  if (take().text == "else") {
    s->otherwise = body_until({"endfor"});
    take();
  }
  return s;
}

void Parser::check_target(const Expr* e) {
  if (e->kind == ExprKind::tuple) {
    for (const Expr* item : e->args) check_target(item);
  } else if (e->kind != ExprKind::name && e->kind != ExprKind::space_target) {
    throw Failure{Code::unsupported, "can't assign to a value", e->line, e->column};
  }
}

Expr* Parser::assign_target(std::string_view end_name, bool with_space) {
  std::vector<Stmt*> outer = std::exchange(macros_, {});  // names written here are not read
  Expr* target = tuple(true, true, end_name, false, with_space);
  macros_ = std::move(outer);
  check_target(target);
  return target;
}

Stmt* Parser::assign(const Token& at) {
  Stmt* s = add(StmtKind::assign, at);
  s->target = assign_target("", true);
  if (skip_op("=")) {
    s->expr = tuple(false, true, "", false, false);
    return s;
  }
  s->kind = StmtKind::assign_block;
  if (is_op("|")) s->expr = filter(nullptr, false);
  s->bodies.push_back(body_until({"endset"}));
  take();
  return s;
}

void Parser::signature(Stmt* s) {
  expect_op("(");
  while (!is_op(")")) {
    if (!s->targets.empty()) expect_op(",");
    const Token& at = now();
    Expr* name = make(ExprKind::name, at);
    name->name = expect_any_name();
    if (skip_op("=")) s->values.push_back(expression());
    else if (!s->values.empty()) fail_here("non-default argument follows default argument");
    s->targets.push_back(name);
  }
  expect_op(")");
}

void Parser::function_body(Stmt* s, std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  s->bodies.push_back(body_until({end}));
  loops_ = loops;
  take();
}

Stmt* Parser::macro(const Token& at) {
  Stmt* s = add(StmtKind::macro, at);
  s->text = expect_any_name();
  macros_.push_back(s);
  signature(s);
  function_body(s, "endmacro");
  macros_.pop_back();
  return s;
}

Stmt* Parser::call_block(const Token& at) {
  Stmt* s = add(StmtKind::call_block, at);
  if (is_op("(")) signature(s);
  s->expr = expression();
  if (s->expr->kind != ExprKind::call) fail_at(at, "expected call");
  macros_.push_back(s);
  function_body(s, "endcall");
  macros_.pop_back();
  return s;
}

Stmt* Parser::filter_block(const Token& at) {
  Stmt* s = add(StmtKind::filter_block, at);
  s->expr = filter(nullptr, true);
  s->bodies.push_back(body_until({"endfilter"}));
  take();
  return s;
}

Stmt* Parser::with(const Token& at) {
  Stmt* s = add(StmtKind::with, at);
  while (!is(TokenKind::block_end)) {
    if (!s->targets.empty()) expect_op(",");
    s->targets.push_back(assign_target("", false));
    expect_op("=");
    s->values.push_back(expression());
  }
  s->bodies.push_back(body_until({"endwith"}));
  take();
  return s;
}

Stmt* Parser::block(const Token& at) {
  Stmt* s = add(StmtKind::block, at);
  s->text = expect_any_name();
  s->scoped = skip_name("scoped");
  function_body(s, "endblock");
  skip_name(s->text);
  return s;
}

Stmt* Parser::print(const Token& at) {
  Stmt* s = add(StmtKind::print, at);
  while (!is(TokenKind::block_end)) {
    if (!s->values.empty()) expect_op(",");
    s->values.push_back(expression());
  }
  return s;
}

// Refused when it is reached, as Hugging Face's environment, which has no loader, does.
Stmt* Parser::unsupported(const Token& at) {
  Stmt* s = add(StmtKind::unsupported, at);
  s->text = at.text;
  while (!is(TokenKind::block_end) && !is(TokenKind::end)) take();
  if (at.text != "autoescape") return s;
  s->bodies.push_back(body_until({"endautoescape"}));
  take();
  return s;
}

}  // namespace tmpl
