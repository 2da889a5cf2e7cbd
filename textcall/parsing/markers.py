"""The marks by which models set calls, thoughts, turns and ends apart from their text.

Which family writes what: `<tool_call>` Qwen, Hermes, GLM; `[TOOL_CALLS]` Mistral; `<|python_tag|>` Llama; `functools`
Phi; `<|tool_call_start|>` LFM2; `<|START_ACTION|>` Command R; `<|tool_call_begin|>` Kimi; `<｜tool▁call▁begin｜>` and
`<｜DSML｜invoke name=…>` DeepSeek; `<|tool_call>` and `<start_function_call>` Gemma; `<|channel|>… to=` gpt-oss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import regex


def _cases(*marks: str) -> tuple[str, ...]:
    """The marks in small letters, in capitals, and with the first letters or the first one large."""
    return tuple(
        dict.fromkeys(
            each for mark in marks for each in (mark, mark.upper(), mark.title(), mark[0] + mark[1:].capitalize())
        )
    )


# A think block: what opens it -> what closes it.
_THOUGHTS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
_THINK_TAGS = _cases(*(f"<{name}>" for name in (*_THOUGHTS, "seed:think", "mm:think")))
THINK = {
    **{tag: f"</{tag[1:]}" for tag in _THINK_TAGS},
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
}
# One of these without an opener: the template had opened the block, all before it was thought.
ORPHANS = (
    *(f"</{tag[1:]}" for tag in _THINK_TAGS),
    "[/THINK]",
    "<|END_THINKING|>",
    "[BEGIN FINAL RESPONSE]",
)

# A wrapper that only calls stand in: what opens it -> what may close it. Tags may be meant as words; tokens never are.
TAGS = {
    f"<{name}>": (f"</{name}>",)
    for name in (
        "tool_call",
        "tool_calls",
        "function_call",
        "function_calls",
        "tools",
        "TOOLCALL",
        "longcat_tool_call",
        "seed:tool_call",
        "minimax:tool_call",
        "｜DSML｜function_calls",
        "｜DSML｜tool_calls",
    )
}
TOKENS: dict[str, tuple[str, ...]] = {
    "[TOOL_CALLS]": (),
    "<|tool_call>": ("<tool_call|>",),
    "<start_function_call>": ("<end_function_call>",),
    "<|tool_call|>": ("<|/tool_call|>",),
    "<|tool_call_start|>": ("<|tool_call_end|>",),
    "<|function_call|>": (),
    "<|python_tag|>": ("<|eom_id|>",),
    "<|python_start|>": ("<|python_end|>",),
    "<|action_start|><|plugin|>": ("<|action_end|>",),
    "<|START_ACTION|>": ("<|END_ACTION|>",),
    "<|tools_prefix|>": ("<|tools_suffix|>",),
    "<|tool_call_begin|>": ("<|tool_call_end|>",),
    "<｜tool▁call▁begin｜>": ("<｜tool▁call▁end｜>",),
}
LINE_TOKENS = ("functools", "function call<|role_sep|>")  # at the beginning of a line; the first one before a list
FUNCTION = r'<(?:｜DSML｜)?(?:function=|function name=|invoke name=)"?([\w.:/-]+)"?\s*>'
# gpt-oss names the tool in the head of a message; what opens the message may belong to the prompt.
_MESSAGE = r"(?:functions\.)?[\w.-]+(?:<\|channel\|>\w+)?(?: ?(?:<\|constrain\|>)?json)?\s?<\|message\|>"
MESSAGE_STARTS = ("<|channel|>commentary to=", "<|channel|>analysis to=", "<|start|>assistant to=")
_TO = rf"(?:{'|'.join(map(re.escape, MESSAGE_STARTS))}){_MESSAGE}"
_TO_AT_LINE = rf"to=functions\.{_MESSAGE}"
MESSAGE_ENDS = ("<|call|>", "<|end|>")

# Nothing of the reply comes behind these.
ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|call|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|role_end|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
)
# The model goes on as somebody else, or as a tool: a token ends its reply anywhere, a tag where it is not spoken of.
ROLE_TOKENS = (
    "<|im_start|>",
    "<|im_user|>",
    "<|im_system|>",
    "<|start_header_id|>",
    "<|header_start|>",
    "<|ipython|>",
    "[TOOL_RESULTS]",
    "<start_of_turn>",
    "<|turn>",
    "<｜User｜>",
    "<｜tool▁outputs▁begin｜>",
    "<｜tool▁output▁begin｜>",
    "<|user|>",
    "<|system|>",
    "<|observation|>",
    "<|tool|>",
    "<|tool_response>",
    "<|tool_response|>",
    "<|tool_result|>",
    "<|tool_results|>",
    "<|tool_output|>",
    "<|tool_response_start|>",
    "<start_function_response>",
    "<|START_TOOL_RESULT|>",
    "<|USER_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    *(f"<|start|>{role}" for role in ("user", "system", "developer", "tool", "functions.")),
)
# The model's own turn begins again: at the beginning of a reply that says nothing.
OWN_TURN = ("<|assistant|>", "<|im_assistant|>", "<｜Assistant｜>")
_RESULTS = ("result", "results", "response", "responses", "output", "outputs")
ROLE_TAGS = _cases(
    *(f"<tool_{each}>" for each in _RESULTS),
    *(f"<function_{each}>" for each in _RESULTS),
    *(f"<tool_call_{each}>" for each in _RESULTS),
    *("<observation>", "<observations>", "[tool result", "[tool output", "[tool response", "[tool_result"),
    "[INST]",
)
_TOOLS = r"(?:Tool|Function)(?:[ _]call)?[ _](?:result|response|output)s?"
_RESULT = rf"(?:Observation|{_TOOLS}|观察(?:结果)?|工具结果)(?:[ \t]+(?:for|of|from)[ \t]+[\w.`]{{1,64}})?"
_SAYS = r"[*_]{0,3}[ \t]*[:：]"
_MARKED = r"(?:#{1,6}[ \t]*)?[*_]{0,3}"  # a heading, or bold
_HEADING = r"#{1,6}[ \t]*[*_]{0,3}"
_ROLE = rf"{_MARKED}(?:{_RESULT}|User|Human){_SAYS}|{_HEADING}(?:{_RESULT}|User|Human)[*_]{{0,3}}[ \t]*\n"
ROLE_WORDS = re.compile(_ROLE, re.IGNORECASE)
ACTION = r"Action\s*:[ \t]*(?P<name>[\w.:/-]+)[ \t]*\n\s*Action Input\s*:"
WORDS = regex.compile(rf"{_ROLE}|{ACTION}", regex.IGNORECASE)
INVENTED = re.compile(rf"{_MARKED}{_RESULT}{_SAYS}|{_HEADING}{_RESULT}[*_]{{0,3}}[ \t]*\n", re.IGNORECASE)
# Marks of a template around the text that say nothing.
NOISE = (
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|start|>assistant",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
    "<|CHATBOT_TOKEN|>",
    "<|message_sep|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<channel|>",
)
LINE_ENDS = ("</s>",)  # an end only where nothing follows: it is HTML elsewhere

CALL_FENCES = frozenset(
    {"", "json", "jsonc", "json5", "tool", "tools", "tool_call", "tool_calls", "tool_code", "function_call"}
)
CODE_FENCES = frozenset(
    {"tool", "tools", "tool_call", "tool_calls", "tool_code", "function_call"}
)  # Python counts as calls here

# Text in HTML, where a line ends behind the tag: what opens it -> what closes it.
HTML = {f"<{name}>": f"</{name}>" for name in ("pre", "code", "blockquote")} | {"<!--": "-->"}

_EVERYWHERE = (
    *HTML, *THINK, *ORPHANS, *TAGS, *TOKENS, *ENDS, *ROLE_TOKENS, *OWN_TURN, *ROLE_TAGS, *NOISE, *LINE_ENDS
)  # fmt: skip


def _any(marks: Iterable[str]) -> str:
    """A pattern of the longest of the marks that fits, letter by letter: most text is told from them by its second."""
    by_first: dict[str, list[str]] = {}
    for mark in marks:
        by_first.setdefault(mark[:1], []).append(mark[1:])
    may_end = by_first.pop("", None) is not None
    branches = "|".join(re.escape(first) + _any(rest) for first, rest in by_first.items())
    return f"(?:{branches}){'?' if may_end else ''}" if branches else ""


# A mark anywhere in a line, and one at its beginning. `regex` also knows whether a text may still become one.
ANYWHERE = regex.compile(rf"{_TO}|{_any(_EVERYWHERE)}|{FUNCTION}")
AT_LINE = regex.compile(
    rf"{_TO}|{_TO_AT_LINE}|{_any(_EVERYWHERE)}|{FUNCTION}"
    rf"|{LINE_TOKENS[0]}(?=\s*\[)|{re.escape(LINE_TOKENS[1])}"
)
FIRST_CHARS = "".join(sorted({mark[0] for mark in _EVERYWHERE}))
FIRST_IN_LINE = FIRST_CHARS + "ft"
LONGEST = max(len(mark) for mark in _EVERYWHERE) + 120
# What ends something, wherever it stands.
CONTROL = frozenset((*ORPHANS, *ENDS, *ROLE_TOKENS, *OWN_TURN))
# Lines of a structure that is text.
INNER_LINES = re.compile(r"(?:[ \t\r]*+[^\s<\[\ufeff][^\n]*+\n)*+")
_WORD_STARTS = "action|observation|tool|function|user|human|functools|to=|观察|工具结果"
# Whole lines that hold no mark and begin with nothing that could be one.
PLAIN_LINES = re.compile(
    rf"(?:[ \t\r]*+(?:(?!(?:[-*+]|\d{{1,9}}[.)])[ \t]+~~~|[#*_]{{0,6}}[ \t]*[*_]{{0,3}}(?:{_WORD_STARTS}))"
    r"[^\s{\[<｛［`~>\ufeff][^\n<\[`]*+)?\n)*+",
    re.IGNORECASE,
)
TOKEN = re.compile(rf"<\|[^|\n]{{0,60}}\|>|<｜[^｜\n]{{0,60}}｜>|{_any(ENDS + LINE_ENDS)}")
SEARCH = re.compile(rf"\n|{_TO}|{_any(_EVERYWHERE)}|{FUNCTION}")
