"""Which rules match the empty text, and what follows from it: left recursion, and repetitions of nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textcall.grammar.gbnf_text import Alt, Chars, Node, Ref, Repeat, Seq


def left_recursion(rules: Mapping[str, Node]) -> Ref | None:
    """Where a rule can begin with itself, so that it would never come to a character; None where none does."""
    empty = can_be_empty(rules)
    leads = {name: list({ref.name: ref for ref in _leftmost(node, empty)}.values()) for name, node in rules.items()}
    done: set[str] = set()
    for name in rules:
        path: dict[str, Iterator[Ref]] = {} if name in done else {name: iter(leads[name])}
        while path:
            here = next(reversed(path))
            following = next(path[here], None)
            if following is None:
                done.add(here)
                del path[here]
            elif following.name in path:
                return following
            elif following.name not in done:
                path[following.name] = iter(leads[following.name])
    return None


def without_empty_rounds(rules: Mapping[str, Node]) -> dict[str, Node]:
    """Rules of the same language in which no repetition repeats the empty text, so that `(x?){0,50000}` stays small.

    A rule `name'` is `name` without the empty text.
    """
    return _Rounds(rules).rules


class _Rounds:
    def __init__(self, rules: Mapping[str, Node]) -> None:
        self._empty = can_be_empty(rules)
        self._wanted: list[str] = []
        self.rules: dict[str, Node] = {name: self._cleaned(node) for name, node in rules.items()}
        while self._wanted:
            name = self._wanted.pop()
            if f"{name}'" not in self.rules:
                self.rules[f"{name}'"] = self._never_empty(self.rules[name])

    def _cleaned(self, node: Node) -> Node:
        if isinstance(node, Seq):
            return Seq(tuple(map(self._cleaned, node.parts)))
        if isinstance(node, Alt):
            return Alt(tuple(map(self._cleaned, node.options)))
        if isinstance(node, Repeat):
            part = self._cleaned(node.part)
            if is_empty(part, self._empty):
                return Repeat(self._never_empty(part), 0, node.most)
            return Repeat(part, node.least, node.most)
        return node

    def _never_empty(self, node: Node) -> Node:
        """The same without the empty text; no options at all match nothing."""
        if not is_empty(node, self._empty):
            return node
        if isinstance(node, Ref):
            self._wanted.append(node.name)
            return Ref(f"{node.name}'", node.at)
        if isinstance(node, Alt):
            return Alt(tuple(map(self._never_empty, node.options)))
        if isinstance(node, Repeat):
            return Alt(()) if node.most == 0 else Repeat(node.part, 1, node.most)
        parts = node.parts if isinstance(node, Seq) else ()
        return Alt(tuple(Seq((self._never_empty(part), *parts[i + 1 :])) for i, part in enumerate(parts)))


def leftmost_order(rules: Mapping[str, Node]) -> dict[int, int]:
    """A number for each element, by its id: smaller than those of the elements that it may begin with."""
    empty = can_be_empty(rules)
    waiting = list(rules.values())
    done: set[int] = set()
    finished: list[int] = []
    while waiting:
        path = _begun(waiting.pop(), done, rules, empty)
        while path:
            node, inner = path[-1]
            following = next(inner, None)
            if following is None:
                path.pop()
                finished.append(id(node))
                waiting.extend(_parts(node))
            else:
                path.extend(_begun(following, done, rules, empty))
    return {place: -number for number, place in enumerate(finished)}


def _begun(node: Node, done: set[int], rules: Mapping[str, Node], empty: set[str]) -> list[tuple[Node, Iterator[Node]]]:
    if id(node) in done:
        return []
    done.add(id(node))
    return [(node, _firsts(node, rules, empty))]


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Seq):
        return node.parts
    if isinstance(node, Alt):
        return node.options
    return (node.part,) if isinstance(node, Repeat) else ()


def _firsts(node: Node, rules: Mapping[str, Node], empty: set[str]) -> Iterator[Node]:
    """The elements right inside of `node` that a match of it may begin with."""
    if isinstance(node, Ref):
        yield rules[node.name]
        return
    for part in _parts(node):
        yield part
        if isinstance(node, Seq) and not is_empty(part, empty):
            return


def can_be_empty(rules: Mapping[str, Node]) -> set[str]:
    """The names of the rules that match the empty text."""
    empty: set[str] = set()
    size = -1
    while len(empty) != size:
        size = len(empty)
        for name, node in rules.items():
            if name not in empty and is_empty(node, empty):
                empty.add(name)
    return empty


def is_empty(node: Node, empty: set[str]) -> bool:
    """Whether `node` matches the empty text where the rules in `empty` do."""
    if isinstance(node, Chars):
        return False
    if isinstance(node, Ref):
        return node.name in empty
    if isinstance(node, Seq):
        return all(is_empty(part, empty) for part in node.parts)
    if isinstance(node, Alt):
        return any(is_empty(option, empty) for option in node.options)
    return node.least == 0 or is_empty(node.part, empty)


def _leftmost(node: Node, empty: set[str]) -> Iterator[Ref]:
    """The rules that a match of `node` may begin with."""
    if isinstance(node, Ref):
        yield node
    elif isinstance(node, Alt):
        for option in node.options:
            yield from _leftmost(option, empty)
    elif isinstance(node, Repeat):
        if node.most != 0:
            yield from _leftmost(node.part, empty)
    elif isinstance(node, Seq):
        for part in node.parts:
            yield from _leftmost(part, empty)
            if not is_empty(part, empty):
                return
