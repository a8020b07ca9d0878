// template parser: expressions, with jinja2's precedence.
#include "text/template_parser.h"

#include <algorithm>

namespace tmpl {

static std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data: return "template data / text";
    case TokenKind::variable_begin: return "begin of print statement";
    case TokenKind::variable_end: return "end of print statement";
    case TokenKind::block_begin: return "begin of statement block";
    case TokenKind::block_end: return "end of statement block";
    case TokenKind::string: return "string";
    case TokenKind::integer: return "integer";
    case TokenKind::real: return "float";
    case TokenKind::end: return "end of template";
    default: return token.text;
  }
}

void Parser::fail_at(const Token& token, std::string message) const { throw Failure{Code::unsupported, std::move(message), token.line, token.column}; }

bool Parser::skip_op(std::string_view text) {
  if (!is_op(text)) return false;
  take();
  return true;
}

bool Parser::skip_name(std::string_view text) {
  if (!is_name(text)) return false;
  take();
  return true;
}

void Parser::expect_op(std::string_view text) {
  if (!skip_op(text)) fail_here("expected token '" + std::string(text) + "', got '" + describe(now()) + "'");
}

void Parser::expect_name(std::string_view text) {
  if (!skip_name(text)) fail_here("expected token '" + std::string(text) + "', got '" + describe(now()) + "'");
}

std::string Parser::expect_any_name() {
  if (!is(TokenKind::name)) fail_here("expected token 'name', got '" + describe(now()) + "'");
  return take().text;
}

Expr* Parser::make(ExprKind kind, const Token& at) {
  Expr& e = program_.exprs.emplace_back();
  e.kind = kind;
  e.line = at.line;
  e.column = at.column;
  return &e;
}

Expr* Parser::constant(Value value, const Token& at) {
  Expr* e = make(ExprKind::constant, at);
  e->value = std::move(value);
  return e;
}

// `end_name` may end the tuple beside the ends of tags and a closing bracket.
Expr* Parser::tuple(bool simplified, bool conditional, std::string_view end_name, bool parenthesised, bool with_space) {
  const Token& at = now();
  std::vector<Expr*> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_op(",");
    if (is(TokenKind::variable_end) || is(TokenKind::block_end) || is_op(")") || (!end_name.empty() && is_name(end_name))) break;
    items.push_back(simplified ? primary(with_space) : expression(conditional));
    if (!is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items[0];
  if (!is_tuple && !parenthesised) fail_here("Expected an expression, got '" + describe(now()) + "'");
  Expr* e = make(ExprKind::tuple, at);
  e->args = std::move(items);
  return e;
}

Expr* Parser::expression(bool conditional) {
  const Deeper deeper(*this);
  Expr* e = either();
  while (conditional && is_name("if")) {
    Expr* whole = make(ExprKind::conditional, take());
    whole->a = e;
    whole->b = either();
    if (skip_name("else")) whole->c = expression();
    e = whole;
  }
  return e;
}

Expr* Parser::either() {
  Expr* left = both();
  while (is_name("or")) {
    Expr* e = make(ExprKind::either, take());
    e->a = left;
    e->b = both();
    left = e;
  }
  return left;
}

Expr* Parser::both() {
  Expr* left = negation();
  while (is_name("and")) {
    Expr* e = make(ExprKind::both, take());
    e->a = left;
    e->b = negation();
    left = e;
  }
  return left;
}

Expr* Parser::negation() {
  if (!is_name("not")) return comparison();
  const Deeper deeper(*this);
  Expr* e = make(ExprKind::negate, take());
  e->a = negation();
  return e;
}

Expr* Parser::comparison() {
  static constexpr std::pair<std::string_view, Op> table[] = {{"==", Op::eq}, {"!=", Op::ne}, {"<", Op::lt}, {"<=", Op::le}, {">", Op::gt}, {">=", Op::ge}};
  const Token& at = now();
  Expr* first = sum();
  Expr* e = nullptr;
  while (true) {
    const auto* known = is(TokenKind::op) ? std::find_if(std::begin(table), std::end(table), [&](const auto& t) { return t.first == now().text; }) : std::end(table);
    Op op = Op::in;
    if (known != std::end(table)) {
      op = known->second;
    } else if (is_name("not") && after().kind == TokenKind::name && after().text == "in") {
      take();
      op = Op::not_in;
    } else if (!is_name("in")) {
      return e ? e : first;
    }
    if (!e) {
      e = make(ExprKind::compare, at);
      e->a = first;
    }
    take();
    e->ops.push_back(op);
    e->args.push_back(sum());
  }
}

Expr* Parser::chain(Expr* (Parser::*operand)(), std::initializer_list<std::pair<std::string_view, Op>> ops) {
  Expr* left = (this->*operand)();
  while (is(TokenKind::op)) {
    const auto* found = std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.first == now().text; });
    if (found == ops.end()) break;
    Expr* e = make(ExprKind::binary, take());
    e->op = found->second;
    e->a = left;
    e->b = (this->*operand)();
    left = e;
  }
  return left;
}

Expr* Parser::sum() { return chain(&Parser::concat, {{"+", Op::add}, {"-", Op::sub}}); }
Expr* Parser::product() { return chain(&Parser::power, {{"*", Op::mul}, {"/", Op::div}, {"//", Op::floor_div}, {"%", Op::mod}}); }
Expr* Parser::power() { return chain(&Parser::unary, {{"**", Op::pow}}); }

Expr* Parser::concat() {
  const Token& at = now();
  Expr* first = product();
  if (!is_op("~")) return first;
  Expr* e = make(ExprKind::concat, at);
  e->args.push_back(first);
  while (skip_op("~")) e->args.push_back(product());
  return e;
}

Expr* Parser::signed_operand(bool with_filter) {
  Expr* e = nullptr;
  if (is_op("-") || is_op("+")) {
    const Deeper deeper(*this);
    e = make(ExprKind::unary, now());
    e->op = take().text == "-" ? Op::minus : Op::plus;
    e->a = signed_operand(false);
  } else {
    e = primary();
  }
  e = postfix(e);
  return with_filter ? filters(e) : e;
}

// The special names of macros exist only where the body reads them.
void Parser::read_name(std::string_view name) {
  for (Stmt* macro : macros_) {
    macro->uses_caller |= name == "caller";
    macro->uses_varargs |= name == "varargs";
    macro->uses_kwargs |= name == "kwargs";
  }
}

Expr* Parser::name_or_constant(bool with_space) {
  const Token& at = take();
  if (at.text == "true" || at.text == "True") return constant(Value::boolean(true), at);
  if (at.text == "false" || at.text == "False") return constant(Value::boolean(false), at);
  if (at.text == "none" || at.text == "None") return constant(Value::none(), at);
  Expr* e = make(with_space && is_op(".") ? ExprKind::space_target : ExprKind::name, at);
  e->name = at.text;
  if (e->kind == ExprKind::space_target) {
    take();
    e->field = expect_any_name();
  } else {
    read_name(e->name);
  }
  return e;
}

Expr* Parser::primary(bool with_space) {
  const Token& at = now();
  switch (at.kind) {
    case TokenKind::name: return name_or_constant(with_space);
    case TokenKind::integer: take(); return constant(Value::integer(at.integer), at);
    case TokenKind::real: take(); return constant(Value::real(at.real), at);
    case TokenKind::string: {
      std::string text;
      while (is(TokenKind::string)) text += take().text;
      return constant(Value::constant(std::move(text)), at);
    }
    default: break;
  }
  if (is_op("[")) return list();
  if (is_op("{")) return dict();
  if (!skip_op("(")) fail_here("unexpected '" + describe(at) + "'");
  const Deeper deeper(*this);
  Expr* e = tuple(false, true, "", true, false);
  expect_op(")");
  return e;
}

Expr* Parser::list() {
  Expr* e = make(ExprKind::list, take());
  while (!is_op("]")) {
    if (!e->args.empty()) expect_op(",");
    if (is_op("]")) break;
    e->args.push_back(expression());
  }
  expect_op("]");
  return e;
}

Expr* Parser::dict() {
  Expr* e = make(ExprKind::dict, take());
  while (!is_op("}")) {
    if (!e->args.empty()) expect_op(",");
    if (is_op("}")) break;
    e->args.push_back(expression());
    expect_op(":");
    e->args.push_back(expression());
  }
  expect_op("}");
  return e;
}

Expr* Parser::postfix(Expr* e) {
  while (true) {
    if (is_op(".") || is_op("[")) e = subscript(e);
    else if (is_op("(")) e = call(e);
    else return e;
  }
}

Expr* Parser::filters(Expr* e) {
  while (true) {
    if (is_op("|")) e = filter(e, false);
    else if (is_name("is")) e = test(e);
    else if (is_op("(")) e = call(e);
    else return e;
  }
}

// With `started` the first name follows without a bar, as in {% filter upper %}.
Expr* Parser::filter(Expr* e, bool started) {
  while (started || is_op("|")) {
    if (!started) take();
    started = false;
    Expr* f = make(ExprKind::filter, now());
    f->name = expect_any_name();
    while (skip_op(".")) f->name += "." + expect_any_name();
    f->a = e;
    if (is_op("(")) arguments(f);
    e = f;
  }
  return e;
}

Expr* Parser::test(Expr* e) {
  Expr* t = make(ExprKind::test, take());
  const bool negated = skip_name("not");
  t->name = expect_any_name();
  while (skip_op(".")) t->name += "." + expect_any_name();
  t->a = e;
  const bool argument = (is(TokenKind::name) && !is_name("else") && !is_name("or") && !is_name("and")) || is(TokenKind::string) || is(TokenKind::integer) ||
                        is(TokenKind::real) || is_op("[") || is_op("{");
  if (is_op("(")) {
    arguments(t);
  } else if (argument) {
    if (is_name("is")) fail_here("You cannot chain multiple tests with is");
    t->args.push_back(postfix(primary()));
  }
  if (!negated) return t;
  Expr* n = make(ExprKind::negate, now());
  n->a = t;
  return n;
}

Expr* Parser::subscript(Expr* object) {
  const Token& at = take();
  if (at.text == ".") {
    const Token& name = take();
    if (name.kind != TokenKind::name && name.kind != TokenKind::integer) fail_at(name, "expected name or number");
    Expr* e = make(name.kind == TokenKind::name ? ExprKind::attribute : ExprKind::item, name);
    e->a = object;
    if (name.kind == TokenKind::name) e->name = name.text;
    else e->b = constant(Value::integer(name.integer), name);
    return e;
  }
  Expr* e = subscribed(object, at);
  if (is_op(",")) fail_here("a subscript of several values is not supported");
  expect_op("]");
  return e;
}

Expr* Parser::subscribed(Expr* object, const Token& at) {
  Expr* e = make(ExprKind::item, at);
  e->a = object;
  if (!is_op(":")) {
    e->b = expression();
    if (!is_op(":")) return e;
  }
  e->kind = ExprKind::slice;
  expect_op(":");
  if (!is_op(":") && !is_op("]")) e->c = expression();
  if (skip_op(":") && !is_op("]")) e->d = expression();
  return e;
}

Expr* Parser::call(Expr* function) {
  Expr* e = make(ExprKind::call, now());
  e->a = function;
  arguments(e);
  return e;
}

void Parser::arguments(Expr* e) {
  const Token& at = take();
  const auto ensure = [&](bool valid) {
    if (!valid) fail_at(at, "invalid syntax for function call expression");
  };
  for (bool first = true; !is_op(")"); first = false) {
    if (!first) expect_op(",");
    if (is_op(")")) break;
    if (skip_op("*")) {
      ensure(!e->rest && !e->named_rest);
      e->rest = expression();
    } else if (skip_op("**")) {
      ensure(!e->named_rest);
      e->named_rest = expression();
    } else if (is(TokenKind::name) && after().kind == TokenKind::op && after().text == "=") {
      ensure(!e->named_rest);
      std::string name = take().text;
      take();
      for (const auto& other : e->named) {
        if (other.first == name) fail_here("keyword argument repeated: " + name);
      }
      e->named.emplace_back(std::move(name), expression());
    } else {
      ensure(!e->rest && !e->named_rest && e->named.empty());
      e->args.push_back(expression());
    }
  }
  expect_op(")");
}

}  // namespace tmpl
