// template parser: tokens to a Program, with jinja2's grammar; the expression half is shared with the statement half.
#pragma once
#include <initializer_list>
#include "text/template_ast.h"
#include "text/template_lexer.h"

namespace tmpl {

Program parse(std::string_view source);  // throws Failure

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Program run();

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0;
  Program program_;
  std::vector<Stmt*> macros_;         // the macros and call blocks around the current place
  std::vector<std::string> awaited_;  // what would end the innermost block

  struct Deeper {
    Parser& parser;
    explicit Deeper(Parser& p) : parser(p) {
      if (++p.depth_ > max_parse_depth) p.fail_here("nested more than 100 deep");
    }
    ~Deeper() { parser.depth_--; }
  };

  // template_parser.cpp: the token stream and expressions
  const Token& now() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TokenKind kind) const { return now().kind == kind; }
  bool is_op(std::string_view text) const { return is(TokenKind::op) && now().text == text; }
  bool is_name(std::string_view text) const { return is(TokenKind::name) && now().text == text; }
  bool skip_op(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_op(std::string_view text);
  void expect_name(std::string_view text);
  std::string expect_any_name();
  [[noreturn]] void fail_at(const Token& token, std::string message) const;
  [[noreturn]] void fail_here(std::string message) const { fail_at(now(), std::move(message)); }
  Expr* make(ExprKind kind, const Token& at);
  Expr* constant(Value value, const Token& at);
  Expr* tuple(bool simplified, bool conditional, std::string_view end_name, bool parenthesised, bool with_space);
  Expr* expression(bool conditional = true);
  Expr* either();
  Expr* both();
  Expr* negation();
  Expr* comparison();
  Expr* chain(Expr* (Parser::*operand)(), std::initializer_list<std::pair<std::string_view, Op>> ops);
  Expr* sum();
  Expr* concat();
  Expr* product();
  Expr* power();
  Expr* unary() { return signed_operand(true); }
  Expr* signed_operand(bool with_filter);
  Expr* primary(bool with_space = false);
  Expr* name_or_constant(bool with_space);
  Expr* list();
  Expr* dict();
  Expr* postfix(Expr* e);
  Expr* filters(Expr* e);
  Expr* filter(Expr* e, bool started);
  Expr* test(Expr* e);
  Expr* subscript(Expr* e);
  Expr* subscribed(Expr* e, const Token& at);
  Expr* call(Expr* e);
  void arguments(Expr* e);
  void read_name(std::string_view name);

  // template_statements.cpp
  Stmt* add(StmtKind kind, const Token& at);
  std::vector<Stmt*> body();
  std::vector<Stmt*> body_until(std::initializer_list<std::string_view> ends);
  Stmt* statement();
  Stmt* branch(const Token& at);
  Stmt* loop(const Token& at);
  Stmt* assign(const Token& at);
  Stmt* macro(const Token& at);
  Stmt* call_block(const Token& at);
  Stmt* filter_block(const Token& at);
  Stmt* with(const Token& at);
  Stmt* block(const Token& at);
  Stmt* print(const Token& at);
  Stmt* unsupported(const Token& at);
  void signature(Stmt* s);
  void function_body(Stmt* s, std::string_view end);
  Expr* assign_target(std::string_view end_name, bool with_space);
  void check_target(const Expr* e);
};

}  // namespace tmpl
