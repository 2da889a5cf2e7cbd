"""Writes sales.xlsx beside this file: a year of invented sales. A workbook is a zip of XML."""

from __future__ import annotations

import zipfile
from pathlib import Path

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
MONTHS += ("October", "November", "December")
PRODUCTS = {"North": ("Kettle", 24.9), "Centre": ("Lamp", 39.5), "South": ("Chair", 84)}


def rows() -> list[tuple[str | float, ...]]:
    """The header and 36 rows."""
    below = [
        (month, region, product, 40 + (7 * number + 13 * place) % 60, price)
        for number, month in enumerate(MONTHS)
        for place, (region, (product, price)) in enumerate(PRODUCTS.items())
    ]
    return [("Month", "Region", "Product", "Units", "Price"), *below]


def cell(value: str | float) -> str:
    """One cell as XML."""
    text = isinstance(value, str)
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>' if text else f"<c><v>{value}</v></c>"


def parts() -> dict[str, str]:
    """The files in the zip."""
    table = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows())
    relation = (
        '<Relationships xmlns="{0}/relationships"><Relationship Id="r1" Type="{1}/{2}" Target="{3}"/></Relationships>'
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>',
        "_rels/.rels": relation.format(PACKAGE, OFFICE, "officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": relation.format(PACKAGE, OFFICE, "worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Sales" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{table}</sheetData></worksheet>',
    }


if __name__ == "__main__":
    with zipfile.ZipFile(Path(__file__).with_name("sales.xlsx"), "w") as archive:
        for name, text in parts().items():
            archive.writestr(zipfile.ZipInfo(name), HEAD + text, zipfile.ZIP_DEFLATED)
