"""Everything that textcall raises on purpose, as one tree.

What the *model* can fix is never an exception: it is a `textcall.messages.Problem`, data that goes back to the model.
What a *person* can fix is one of these, with a message that says what to do:

    TextcallError           exit  http
    ├── UsageError            2   400   a wrong argument, an empty question, an unknown tool in tool_choice
    │   ├── ToolsError        2   400   a tools file that cannot be read, a tool that cannot be described
    │   └── SchemaError       2   400   parameters that are not a valid JSON Schema (names the path)
    ├── ModelError            3   503   no model can be used
    │   ├── ModelNotFound     3   404   no model file where one was looked for
    │   ├── ModelFileError    3   503   not a GGUF file, cut short, or refused by llama.cpp
    │   └── DownloadError     3   502   a model could not be fetched, or its sha256 is wrong
    ├── GrammarError          4   500   a GBNF text that is not one (a fault of textcall or of a hand-written file)
    └── EngineError           5   500   the engine failed while it was running
        ├── ContextOverflow   5   400   the prompt does not fit into the context (says both numbers)
        └── Cancelled       130   499   a listener ended the generation: nobody wants the reply any more

Exit codes of the command line: 0 an answer was given; 1 the run ended without an answer that the model chose to give (a
limit, an unusable reply: the last line says which); 2 to 5 as above; 130 interrupted (Ctrl-C); 74 the system
refused to read or write (a full disk); 70 a fault of textcall itself, which is a bug to report.
"""

from __future__ import annotations


class TextcallError(Exception):
    """Base of the tree. `code` is a stable word, `status` the HTTP status, `exit_code` that of the command line."""

    code = "error"
    status = 500
    exit_code = 1


class UsageError(TextcallError):
    """What the caller asked for cannot be done as asked."""

    code = "usage"
    status = 400
    exit_code = 2


class ToolsError(UsageError):
    """A tools file or a tool definition cannot be used."""

    code = "tools"


class SchemaError(UsageError):
    """A tool's parameters are not a valid JSON Schema."""

    code = "schema"


class ModelError(TextcallError):
    """No model can be used."""

    code = "model"
    status = 503
    exit_code = 3


class ModelNotFound(ModelError):
    """No model file was found where one was looked for."""

    code = "model_not_found"
    status = 404


class ModelFileError(ModelError):
    """The file is no GGUF file, is cut short, or is refused by llama.cpp."""

    code = "model_file"


class DownloadError(ModelError):
    """A model could not be fetched, or what came has the wrong sha256."""

    code = "download"
    status = 502


class GrammarError(TextcallError):
    """A text is not valid GBNF."""

    code = "grammar"
    exit_code = 4


class EngineError(TextcallError):
    """The engine failed while it was running."""

    code = "engine"
    exit_code = 5


class Cancelled(EngineError):
    """Nobody wants the reply any more: for listeners to raise."""

    code = "cancelled"
    status = 499
    exit_code = 130


class ContextOverflow(EngineError):
    """The prompt does not fit into the model's context."""

    code = "context_overflow"
    status = 400
