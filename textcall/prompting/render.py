"""Tools, results and problems as the text that a model reads.

The wording is measured, not guessed: what each part brings with a 1.5B model stands in models/README.md. Three things
carry most: a made-up exchange (without it small models use any tool for any question), the question repeated beside
every result (without it they answer after the first one), and an arithmetic example in the calculator's description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from textcall.block import Convention, Shape, render_call, render_none, render_reply
from textcall.messages import Message, Problem, ToolCall, compact_json
from textcall.parsing.markers import ORPHANS, THINK
from textcall.prompting.signature import signature
from textcall.tools import Tool

# A question longer than this is not repeated beside every result: its tokens would cost more than they bring.
LONG_QUESTION = 600

# The `name` of messages about an unusable reply: that reply as it was written, and what textcall says of it. They are
# not taken for an answer and for the user's question.
FEEDBACK = "textcall"


def tool_text(tool: Tool, convention: Convention) -> str:
    """One tool as the prompt lists it."""
    if convention.rendering == "json":
        described = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return compact_json(described)
    return signature(tool.name, tool.description, tool.parameters)


def system_prompt(tools: Sequence[Tool], convention: Convention, system: str | None = None) -> str:
    """The system prompt: the user's own text, the form of a reply, the tools, the rules, an example.

    Without tools it is the user's own text alone, "" where there is none.
    """
    if not tools:
        return system or ""
    convention = convention.beside(tool.name for tool in tools)
    listed = [tool_text(tool, convention) for tool in tools]
    parts = [
        system or "You are a helpful assistant that can use tools.",
        _FORMS[convention.shape](convention),
        "Tools:\n" + "\n".join([*listed, *_pseudo_tools(convention)]),
        _rules(convention),
    ]
    if convention.example:
        parts.append(_example(convention))
    return "\n\n".join(parts)


def conversation(messages: Sequence[Message], tools: Sequence[Tool], convention: Convention) -> list[Message]:
    """Messages with calls and results as messages of text alone, as the engine takes them.

    Calls are written canonically; the results that follow one assistant message become one user message. System
    messages become text of the user message that they stand beside: the one in front is `system_prompt`'s.
    """
    convention = convention.beside(tool.name for tool in tools)
    written: list[Message] = []
    question = ""
    for index, message in enumerate(messages):
        if message.role == "tool":
            written.append(Message.user(_result(message)))
            if index + 1 == len(messages) or messages[index + 1].role != "tool":
                written.append(Message.user(what_is_open(question, convention)))
            continue
        if message.role == "user" and message.name != FEEDBACK:
            question = message.content or ""
        if message.role == "assistant":
            written.append(_assistant(message, convention, bool(tools)))
        else:
            written.append(Message.user(message.content or "") if message.role == "system" else message)
    return _joined(written)


def what_is_open(question: str, convention: Convention) -> str:
    """What the prompt says after the results: what was asked, and that it may not be done yet."""
    go_on = f"Call the next tool that is still needed, or {_ANSWER[convention.shape]} if nothing is open."
    if not question or not convention.repeat_question or len(question) > LONG_QUESTION:
        return go_on
    return f"The question was: {question}\n{go_on}"


def feedback(problems: Sequence[Problem], *, beside_calls: bool = False) -> Message:
    """The message that goes back to the model where its reply could not be used.

    beside_calls: whether other calls of the same reply were run, so that only a part of it was refused.
    """
    lines = [f"- {problem.message}" for problem in problems] or ["- the reply was empty"]
    what = "A part of your message" if beside_calls else "Your last message"
    again = "Write that part again, corrected." if beside_calls else "Write it again, corrected."
    text = "\n".join([f"{what} could not be used:", *lines, again])
    return Message("user", text, name=FEEDBACK)


def nudge(calls: Sequence[ToolCall]) -> Message:
    """What the model is told where it makes the same calls again."""
    made = " and ".join(dict.fromkeys(render_call(call.name, call.arguments) for call in calls))
    text = f"You have made this call before, and its result stays the same: {made}\nDo not make it again."
    return Message("user", text, name=FEEDBACK)


def without_thoughts(reply: str) -> str:
    """What a reply says behind the think block that it begins with; "" where that block is still open.

    A block that closes without being opened was opened by the prompt. Marks further back are text.
    """
    said, end = reply, _thought(reply)
    while end:
        said = said[end:].lstrip()
        end = _thought(said)
    return said


def _thought(reply: str) -> int:
    """Where the think block ends that `reply` begins with; 0 where it begins with none."""
    start = len(reply) - len(reply.lstrip())
    opened = next((mark for mark in THINK if reply.startswith(mark, start)), "")
    if opened:
        place = reply.find(THINK[opened], start)
        return place + len(THINK[opened]) if place >= 0 else len(reply)
    first = _FIRST_MARK.search(reply)
    return first.end() if first and first.group() in ORPHANS else 0


_FIRST_MARK = re.compile("|".join(re.escape(mark) for mark in (*THINK, *ORPHANS)))


def _result(message: Message) -> str:
    """A result; one of several lines has a mark on each, so that none is read as a line of the prompt's own."""
    head = f"Result of {message.name or message.tool_call_id}:"
    content = message.content or ""
    lines = content.splitlines()
    if len(lines) < 2:
        return f"{head} {content}"
    return "\n".join([head, *(f"| {line}" for line in lines)])


def _assistant(message: Message, convention: Convention, has_tools: bool) -> Message:
    if message.name == FEEDBACK:  # a reply that could not be used stays as it was written, but for what was thought
        return Message.assistant(without_thoughts(message.content or ""))
    calls = [render_call(call.name, call.arguments) for call in message.tool_calls]
    content = message.content or ""
    if not has_tools or (convention.shape is Shape.PLAIN):
        return Message.assistant("\n".join([*filter(None, [content]), *calls]))
    if calls:
        return Message.assistant("\n".join(calls))
    if convention.shape is Shape.DECIDE:
        return Message.assistant(f"{render_none(convention)}\n{content}")
    return Message.assistant(render_reply(convention, content))


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Neighbouring user messages as one, a line each."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = Message.user(f"{joined[-1].content}\n{message.content}")
        else:
            joined.append(message)
    return joined


_ANSWER = {Shape.PLAIN: "answer", Shape.DECIDE: "answer", Shape.REPLY: "reply"}


def _call_form() -> str:
    return render_call("NAME", {}).replace('"NAME"', "NAME").replace("{}", "{...}")


_FORMS: dict[Shape, Callable[[Convention], str]] = {
    Shape.PLAIN: lambda _convention: (
        f"To use a tool, write one JSON object alone on a line and nothing else: {_call_form()}\n"
        "If no tool is needed, answer in plain text."
    ),
    Shape.DECIDE: lambda convention: (
        f"Every message you write begins with a JSON line: a call {_call_form()}, "
        f"or {render_none(convention)} and then your answer on the next line."
    ),
    Shape.REPLY: lambda _convention: f"You write one JSON object per message and nothing else:\n{_call_form()}",
}


def _pseudo_tools(convention: Convention) -> list[str]:
    if convention.shape is not Shape.REPLY:
        return []
    description = "Answer the user. Use this when no other tool is needed or when all results are there."
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    if convention.rendering == "json":
        described = {"name": convention.reply_name, "description": description, "parameters": parameters}
        return [compact_json(described)]
    return [signature(convention.reply_name, description, parameters)]


def _rules(convention: Convention) -> str:
    answer = _ANSWER[convention.shape]
    return (
        "Rules: Use a tool when it can give what is asked for; never guess or calculate yourself. "
        f"For everything else {answer} directly: knowledge, translations, writing and talk need no tool. "
        f"After a result, go on with the next open part of the question, then {answer} in the user's language."
    )


def _example(convention: Convention) -> str:
    question = "How tall is Mount Fuji? If it is over 3000 metres, how many feet is that?"
    answer = "Mount Fuji is 3776 m tall, over 3000 m; that is 12388 feet."
    exchange = [
        Message.user(question),
        Message.assistant(tool_calls=[ToolCall("1", "lookup", {"query": "Mount Fuji height"})]),
        Message("tool", "3776 m", tool_call_id="1", name="lookup"),
        Message.assistant(tool_calls=[ToolCall("2", "convert", {"value": 3776, "to": "feet"})]),
        Message("tool", "12388", tool_call_id="2", name="convert"),
        Message.assistant(answer),
        Message.user("Who painted the Mona Lisa?"),
        Message.assistant("Leonardo da Vinci."),
        Message.user("Write a line about the sea."),
        Message.assistant("The sea breathes in the dark."),
    ]
    lines = [_example_line(message, convention) for message in exchange]
    return "Example of a conversation (with other tools):\n" + "\n".join(lines)


def _example_line(message: Message, convention: Convention) -> str:
    if message.role == "user":
        return f"User: {message.content}"
    if message.role == "tool":
        return _result(message)
    return _assistant(message, convention, has_tools=True).content or ""
