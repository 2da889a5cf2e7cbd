"""Small workbooks, written by hand: a zip of XML, and the container that encrypted ones are in."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
Value = str | int | float | bool | date | None


def xlsx(path: Path, sheets: Mapping[str, list[list[Value]] | str]) -> Path:
    """A workbook; a sheet is its rows, or the XML of them."""
    names = list(sheets)
    numbers = range(1, len(names) + 1)
    sheet_tags = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, names, strict=True)
    )
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{TYPE}.worksheet+xml"/>' for n in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheet_tags}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{relations}'
        f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        "</styleSheet>",
    }
    for number, rows in zip(numbers, sheets.values(), strict=True):
        data = rows if isinstance(rows, str) else "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'
        )
    return _zip(path, parts)


def ods(path: Path, rows: list[list[Value]], manifest: str = "") -> Path:
    """A workbook of OpenDocument with one sheet."""
    table = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
    spaces = "".join(f' xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "table", "text"))
    content = (
        f"<office:document-content{spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="Sheet">{table}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    entries = f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">{manifest}</manifest:manifest>'
    mimetype = "application/vnd.oasis.opendocument.spreadsheet"
    return _zip(path, {"mimetype": mimetype, "content.xml": content, "META-INF/manifest.xml": entries})


def encrypted_ods(path: Path) -> Path:
    entry = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    return ods(path, [["a"]], entry)


def encrypted_xlsx(path: Path) -> Path:
    """The container (CFB) that Excel puts an encrypted workbook into, with nothing in it but the names."""
    free, end, fat = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        1,
        1,
        0,
        4096,
        end,
        0,
        end,
        0,
        0,
    )
    header += struct.pack("<108I", *([free] * 108))

    def entry(name: str, kind: int, child: int = free, right: int = free) -> bytes:
        text = name.encode("utf-16-le")
        fields = struct.pack("<HBBIII36xIQ", len(text) + 2 if text else 0, kind, 1, free, right, child, end, 0)
        return text.ljust(64, b"\0") + fields

    entries = entry("Root Entry", 5, 1), entry("EncryptionInfo", 2, free, 2), entry("EncryptedPackage", 2), entry("", 0)
    table = struct.pack("<128I", fat, end, *([free] * 126))
    path.write_bytes(header + table + b"".join(entries))
    return path


def _zip(path: Path, parts: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def _cell(value: Value) -> str:
    match value:
        case None:
            return "<c/>"
        case bool():
            return f'<c t="b"><v>{int(value)}</v></c>'
        case date():
            return f'<c s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
        case str():
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def _ods_cell(value: Value) -> str:
    match value:
        case None:
            return "<table:table-cell/>"
        case bool():
            kind, attribute = "boolean", f'office:boolean-value="{str(value).lower()}"'
        case date():
            kind, attribute = "date", f'office:date-value="{value}"'
        case str():
            kind, attribute = "string", ""
        case _:
            kind, attribute = "float", f'office:value="{value}"'
    return f'<table:table-cell office:value-type="{kind}" {attribute}><text:p>{value}</text:p></table:table-cell>'
