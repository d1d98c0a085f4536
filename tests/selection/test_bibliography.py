"""BibTeX entries of what to cite."""

import re
from pathlib import Path

import uaos
from uaos.optimizers.catalogue import cited
from uaos.selection import bibliography
from uaos.selection.bibliography import bibtex


def test_every_publication_becomes_a_complete_entry():
    """Keys are unique; every entry has author, title and year, and its braces are closed."""
    text = bibtex(bibliography._references().values())
    entries = re.findall(r"^@(\w+)\{(\w+),$", text, re.MULTILINE)
    assert len(entries) == len({key for _, key in entries}) == len(bibliography._references())
    assert {kind for kind, _ in entries} == {"misc", "article", "inproceedings", "book"}
    for field in ("author", "title", "year"):
        assert text.count(f"  {field} = {{") == len(entries)
    assert text.count("{") == text.count("}")


def test_an_article_by_hand():
    """Volume, number and pages come from the venue."""
    text = bibtex([uaos.configuration("SaDE").reference])
    assert "@article{qin2009," in text
    for line in ("volume = {13}", "number = {2}", "pages = {398--417}"):
        assert f"  {line}," in text


def test_every_configuration_of_the_catalogue_is_in_the_bibliography():
    """No reference of the package ends as a comment; one of a user does."""
    assert "%" not in bibtex(cited(uaos.methods().values()))
    assert bibtex(["Me (2026), mine"]).endswith("% Me (2026), mine\n")


def test_members_of_a_portfolio_are_cited():
    """MOS runs CMA-ES."""
    assert "@misc{hansen2016," in bibtex(cited([uaos.configuration("MOS")]))


def test_getting_started_shows_the_entries_of_the_package():
    """The page has what the command prints."""
    page = (Path(__file__).parents[2] / "docs" / "getting-started.md").read_text("utf-8")
    assert f"```bibtex\n{bibtex([])}```" in page
