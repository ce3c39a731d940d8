"""The demo's report: complete, honest in words whichever way the figures went, and sufficient by itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from story_fakes import KINDS, MODELS, RESULTS, disc, results, story

from litotes import places
from litotes.demo.narration import angle_note, lead, losses, price, radius_note
from litotes.demo.plots import disc_svg, view_radius
from litotes.demo.report import question_view, search_view, write_report
from litotes.demo.story import Disc, Hit, Option, Question, Search, Story
from litotes.demo.tables import tables
from litotes.errors import UserError
from litotes.evaluate.plots import curve_svg

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes, the visible text, and a check that tags close in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    path = write_report(story(), folder)
    return folder, path, path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(written):
    return Page(written[2])


def bare(made):
    """A story of figures alone."""
    return Story(made, (), (), {}, {})


# Files


def test_both_files_are_written_and_nothing_else(written):
    folder, path, _ = written
    assert path == folder / "report.html"
    assert sorted(file.name for file in folder.iterdir()) == ["report.html", "report.json"]


def test_json_holds_the_results(written):
    found = json.loads((written[0] / "report.json").read_text(encoding="utf-8"))
    assert found == RESULTS
    assert list(found["models"]) == list(MODELS)
    for model in found["models"].values():
        assert set(model["mcq"]) >= {"positive", "negative", "hybrid", "total"}
        assert set(model["pairs"]) == {
            "negated_positive_over_negative", "hybrid_absent_over_present", "absence_absent_over_present"
        }  # fmt: skip
        assert set(model["radius"]) == set(KINDS)
        assert set(model["retrieval"]["i2t"]) == {"1", "5", "10"}


def test_a_model_beyond_the_four_gets_a_column_of_its_own_name(tmp_path):
    made = results()
    made["models"] = {"conclip <i>": made["models"]["base"], **made["models"]}
    text = write_report(bare(made), tmp_path).read_text(encoding="utf-8")
    assert "conclip &lt;i&gt;" in text
    assert list(json.loads((tmp_path / "report.json").read_text())["models"])[:4] == list(MODELS)


def test_optional_figures_may_be_missing(tmp_path):
    made = {"models": results()["models"]}
    for model in made["models"].values():
        for key in ("held_out_wordings", "new_cues", "angles", "radius_raw", "fingerprint"):
            del model[key]
        del model["mcq"]["n"]
    page = Page(write_report(bare(made), tmp_path).read_text(encoding="utf-8"))
    assert "held-out wordings" not in page.text
    assert "Angle at N" not in page.text
    assert "this small world and these wordings" in page.text


@pytest.mark.parametrize("path", ["mcq.total", "pairs.absence_absent_over_present", "retrieval.i2t", "radius.negative"])
def test_a_missing_required_figure_is_named(tmp_path, path):
    made = results()
    *folders, last = path.split(".")
    at = made["models"]["hanclip"]
    for key in folders:
        at = at[key]
    del at[last]
    with pytest.raises(UserError, match=re.escape(f"models.hanclip.{path}")):
        write_report(bare(made), tmp_path)


@pytest.mark.parametrize("value", [84.1, -0.1, "0.8", None, True])
def test_a_figure_that_is_no_fraction_is_named(tmp_path, value):
    with pytest.raises(UserError, match=r"models\.extended\.mcq\.total"):
        write_report(bare(results(extended={"mcq.total": value})), tmp_path)


@pytest.mark.parametrize("value", [float("nan"), np.float32(0.5)])
def test_what_json_cannot_hold_is_refused(tmp_path, value):
    with pytest.raises(UserError, match="JSON cannot hold"):
        write_report(bare(results(base={"mcq.total": value})), tmp_path)


def test_a_missing_model_is_named(tmp_path):
    made = results()
    del made["models"]["infonce"]
    with pytest.raises(UserError, match=r"models\.infonce"):
        write_report(bare(made), tmp_path)


def test_models_asked_different_questions_are_refused(tmp_path):
    with pytest.raises(UserError, match="suite retrieval with other questions for extended"):
        write_report(bare(results(extended={"retrieval.split_sha256": "e" * 64})), tmp_path)


def test_a_refused_story_leaves_the_old_report(tmp_path):
    write_report(bare(results()), tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    bad = replace(bare(results(base={"mcq.total": 0.9})), discs={"base": Disc(dict.fromkeys(KINDS, np.ones((3, 2))))})
    with pytest.raises(UserError, match="disc of base with points outside"):
        write_report(bad, tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_crash_while_writing_leaves_the_old_report(tmp_path, monkeypatch):
    path = write_report(bare(results()), tmp_path)
    before = path.read_bytes(), (tmp_path / "report.json").read_bytes()

    def full(_):
        raise OSError("disk full")

    monkeypatch.setattr(places.os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_report(bare(results(base={"mcq.total": 0.9})), tmp_path)
    assert (path.read_bytes(), (tmp_path / "report.json").read_bytes()) == before


# The page


def test_the_page_parses_and_has_every_part_in_order(page):
    assert page.open == []
    heads = [attributes["id"] for attributes in page.all("h2")]
    assert heads == ["search", "statements", "figures", "geometry", "curves", "measured"]


def test_every_picture_is_inside_the_page_and_has_words(page):
    pictures = page.all("img")
    assert len(pictures) == 3 + 2 * 3 * 6 + 2
    for attributes in pictures:
        assert attributes["src"].startswith("data:image/png;base64,")
        assert len(attributes["alt"]) > 3
    plots = [attributes for attributes in page.all("div") if attributes.get("role") == "img"]
    assert len(plots) == 4 + 4
    assert all(attributes["aria-label"] for attributes in plots)


def test_nothing_outside_the_page_is_asked_for(written, page):
    text = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", written[2])
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.elements}
    for tag, attributes in page.elements:
        for key in ("src", "href", "srcset", "xlink:href"):
            assert (attributes.get(key) or "#").startswith(("#", "data:")), (tag, attributes)


def test_ids_are_unique_and_references_resolve(written, page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = set(re.findall(r'(?:href="#|url\(#)([^")]+)', written[2]))
    assert named
    assert named <= set(ids)


def test_every_colour_of_the_plots_is_one_of_the_page(written):
    style, body = written[2].split("</style>", 1)
    used = set(re.findall(r"var\((--[a-z-]+)\)", body))
    assert {"--image", "--positive", "--negated-positive", "--negative", "--ink"} <= used
    for variable in used:
        assert style.count(f"{variable}:") == 2, f"{variable} for light and for dark"
    assert not re.search(r"#01[ab]0", body)


def test_captions_queries_and_names_are_escaped(tmp_path):
    nasty = 'a <b>cat</b> & "dog" <script>alert(1)</script>'
    scores = dict.fromkeys(MODELS, 0.5)
    picture = Image.new("RGB", (8, 8), "teal")
    made = results(base={"model": nasty})
    told = Story(
        made | {"honesty": {nasty: nasty}, "timings": {nasty: 1.0}},
        (Question(picture, nasty, (Option(nasty, True, scores), Option("x", False, scores)), nasty),),
        (Search(nasty, {"base": (Hit(picture, True, nasty),), nasty: (Hit(picture, False),)}),),
        {},
        {nasty: {nasty: [1.0, 0.5]}},
    )
    text = write_report(told, tmp_path).read_text(encoding="utf-8")
    page = Page(text)
    assert "<script" not in text
    assert "<b>cat" not in text
    assert text.count("&lt;script&gt;") >= 9
    assert nasty in page.text
    assert nasty in [attributes["alt"] for attributes in page.all("img")]


def test_hits_are_marked_in_words_and_shape(page):
    assert page.text.count("1 of 6 right") == 2
    assert page.text.count("5 of 6 right") == 2
    assert page.text.count("plain fine-tuning : 0 of 6 right") == 2
    alt = [attributes["alt"] for attributes in page.all("img") if attributes["alt"].startswith("Place")]
    assert sum(text.endswith("is not true of it") for text in alt) == 2 * (5 + 4 + 1)
    marks = [attributes["class"] for attributes in page.all("li") if attributes.get("class") in ("yes", "no")]
    assert marks.count("no") == 2 * (5 + 4 + 1)
    assert len(marks) == len(alt)


def test_the_honesty_fields_stand_on_the_page(page):
    lines = ("torch 2.13.0", "90.6 s", "hanclip · loop · lr 0.003")
    for words in (*lines, "ab12ab12", "float32", "c" * 64, "A toy world"):
        assert words in page.text


def test_runs_without_curves_are_said_to_be_ready_made(page):
    assert "Not trained in this run, but loaded ready-made: extended recipe." in page.text


# Views


def test_a_choice_needs_a_strict_maximum():
    scores = ({"base": 0.5, "extended": 0.7}, {"base": 0.5, "extended": -0.1}, {"base": 0.1, "extended": 0.3})
    options = tuple(Option(f"{i}", i == 2, score) for i, score in enumerate(scores))
    view = question_view(Question(Image.new("RGB", (4, 4)), "hybrid", options))
    assert view.undecided == ("base",)
    assert [option.chosen_by for option in view.options] == [("extended",), (), ()]
    assert [option.true for option in view.options] == [False, False, True]
    assert [option.bars["extended"].text for option in view.options] == ["0.700", "\N{MINUS SIGN}0.100", "0.300"]
    lengths = [option.bars["extended"].length for option in view.options]
    assert lengths == pytest.approx([1.0, 0.06, 0.06 + 0.94 / 2])


def test_at_most_six_hits_a_row_and_counts_for_the_rest():
    hits = tuple(Hit(Image.new("RGB", (4, 4)), i < 2) for i in range(9))
    view = search_view(Search("a cat but no dog", {"base": hits, "infonce": hits[1:]}))
    assert [len(row) for row in view.rows.values()] == [6]
    assert view.others == (("infonce", 1, 6),)


def test_tables_show_differences_from_the_base_in_points():
    found = {table.title: table for table in tables(RESULTS["models"])}
    choice = {row.label: row.cells for row in found["Multiple choice, by type"].rows}
    negated = choice["Negated: “not N” (1,000)"]
    assert [cell.text for cell in negated] == ["0.3 %", "0.4 %", "0.0 %", "72.3 %"]
    assert [cell.difference for cell in negated] == ["", "+0.1", "\N{MINUS SIGN}0.3", "+72.0"]
    assert [row.cells[3].text for row in found["Plain retrieval"].rows if row.main] == ["347.4"]
    assert (found["Multiple choice, by type"].guess, found["True over false"].guess) == (0.25, 0.5)
    assert len(found) == 7


# Words


def test_the_base_sentence_follows_the_figures():
    def base(absence, hybrid):
        pairs = {"pairs.absence_absent_over_present": absence, "pairs.hybrid_absent_over_present": hybrid}
        return lead(results(base=pairs)["models"])[0]

    assert "ranks 8.0 % in the right order, and 6.4 % where" in base(0.08, 0.064)
    assert "overlooks the “not”" in base(0.08, 0.064)
    assert "no better than guessing" in base(0.5, 0.48)
    assert "no better than guessing" in base(0.5, 0.1)
    assert "not blind to “not”" in base(0.8, 0.9)
    assert "uses the “not” in part" in base(0.8, 0.1)
    assert "overlooks" not in base(0.8, 0.9) + base(0.8, 0.1) + base(0.5, 0.48)


def test_the_hanclip_sentence_follows_the_figures():
    def hanclip(order, absence, hybrid):
        pairs = {
            "pairs.negated_positive_over_negative": order, "pairs.absence_absent_over_present": absence,
            "pairs.hybrid_absent_over_present": hybrid,
        }  # fmt: skip
        return lead(results(hanclip=pairs)["models"])[1]

    rose = hanclip(0.97, 0.079, 0.07)
    assert "for 97.0 % of the pictures, up from 57.1 %" in rose
    assert "stay near the base, at 7.9 and 7.0 % (both below guessing): a shortcut was learnt, not negation." in rose
    fell = hanclip(0.4, 0.079, 0.07)
    assert "for 40.0 % of the pictures, down from 57.1 %" in fell
    assert fell.endswith("negation was not learnt.")
    same = hanclip(0.57104, 0.079, 0.07)
    assert "for 57.1 % of the pictures, as before" in same
    assert same.endswith("negation was not learnt.")
    learnt = hanclip(0.97, 0.8, 0.7)
    assert "move, at 80.0 and 70.0 % (both above guessing): more than a shortcut was learnt." in learnt
    mixed = hanclip(0.97, 0.8, 0.3)
    assert "(the first above, the second below guessing): at most one of the two forms was learnt." in mixed


def test_the_extended_sentence_follows_the_figures():
    def extended(total, absence, hybrid, held=(0.7, 0.68), new=(0.1, 0.08)):
        changes = {
            "mcq.total": total,
            "pairs.absence_absent_over_present": absence, "pairs.hybrid_absent_over_present": hybrid,
            "held_out_wordings.absence_absent_over_present": held[0],
            "held_out_wordings.hybrid_absent_over_present": held[1],
            "new_cues.absence_absent_over_present": new[0], "new_cues.hybrid_absent_over_present": new[1],
        }  # fmt: skip
        return lead(results(extended=changes)["models"])[2]

    good = extended(0.836, 0.812, 0.751)
    assert "81.2 and 75.1 % (both above guessing), and picks the true one of four statements in 83.6 %" in good
    assert "up from 34.3 %" in good
    verdict = "70.0 and 68.0 % (both above guessing): it uses the “not” itself, in this small world."
    assert f"{verdict} Denials in words that it never met as such" in good
    assert good.endswith("(“lacks”, “free of”) are at 10.0 and 8.0 %: not understood.")
    assert extended(0.836, 0.812, 0.751, new=(0.7, 0.1)).endswith("70.0 and 10.0 %: understood in part.")
    assert extended(0.836, 0.812, 0.751, new=(0.7, 0.8)).endswith(verdict)
    phrases = extended(0.836, 0.812, 0.751, (0.5, 0.3))
    verdict = "(the first about, the second below guessing): what it learnt is the phrases, not negation."
    assert phrases.endswith(verdict)
    failed = extended(0.2, 0.1, 0.5)
    assert "20.0 % of the questions, down from 34.3 %" in failed
    assert failed.endswith("negation was not learnt.")
    assert extended(0.836, 0.812, 0.2).endswith("at most one of the two forms was learnt.")
    # One figure just over guessing in the wordings of training, none in others: that is no form learnt.
    barely = extended(0.714, 0.567, 0.484, (0.381, 0.177))
    assert barely.endswith("38.1 and 17.7 % (both below guessing): what it learnt is the phrases, not negation.")


def test_the_price_lists_what_got_worse_and_only_that():
    text = price(RESULTS["models"])
    assert "HANCLIP is worse at plain retrieval (rSum 329.7 → 316.9), retrieval with a denial (rSum" in text
    assert "the extended recipe is worse at classification (77.3 → 75.1 %)." in text
    kept = {"classification.acc1": 0.773, "retrieval.rsum": 329.7, "retrieval_neg.rsum": 180.0}
    assert price(results(hanclip=kept)["models"]).endswith("(77.3 → 75.1 %); HANCLIP is worse at none of this.")
    assert price(results(hanclip=kept, extended=kept)["models"]).startswith("Neither recipe is worse than the base")


def test_a_loss_smaller_than_is_printed_is_none():
    models = results(extended={"classification.acc1": 0.77296})["models"]
    assert losses(models["extended"], models["base"]) == []


def test_the_radius_note_calls_the_claim_empty_only_where_radii_are_constant():
    assert "the same constant, 2.00" in radius_note(RESULTS["models"])
    assert "empty here, neither true nor false" in radius_note(RESULTS["models"])
    assert "As encoded, before any normalisation, N is furthest out in every model" in radius_note(RESULTS["models"])
    moved = radius_note(results(hanclip={"radius.image": 2.5})["models"])
    assert "empty" not in moved
    assert "furthest out is none in base, none in plain fine-tuning, I in HANCLIP" in moved


def test_the_angle_note_follows_the_figures():
    def note(at_n, at_p):
        return angle_note(results(hanclip={"angles.at_negative": at_n, "angles.at_negated_positive": at_p})["models"])

    assert "the first falls from 47.7 to 20.0° and the second rises from 72.4 to 99.0°" in note(20.0, 99.0)
    assert "the first rises from 47.7 to 60.0° and the second falls from 72.4 to 30.0°" in note(60.0, 30.0)
    assert note(None, 30.0) == ""


# Plots


def test_the_view_is_enlarged_only_where_all_points_are_near_the_centre():
    near, far = disc(0.5, 1), Disc({kind: np.array([[0.0, 0.9]]) for kind in KINDS})
    assert 0.3 < view_radius({"a": near}) < 0.5
    assert view_radius({"a": near, "b": far}) == 1.04
    assert view_radius({}) == pytest.approx(0.02)


def test_a_disc_without_a_kind_is_refused():
    points = {kind: np.zeros((2, 2)) for kind in KINDS[:3]}
    with pytest.raises(UserError, match="without negative"):
        view_radius({"base": Disc(points)})


def test_a_disc_draws_every_point_with_its_kinds_marker_and_is_reproducible():
    made = disc(0.5, 1)
    svg = disc_svg(made, view_radius({"a": made}), "a")
    for kind in KINDS:
        assert len(re.findall(rf"<use [^>]*fill: var\(--{kind.replace('_', '-')}\)", svg)) == 40
    assert len(set(re.findall(r"<path id=\"(m\w+)\"", svg))) >= 4
    assert svg == disc_svg(made, view_radius({"a": made}), "a")


@pytest.mark.parametrize("values", [[1.0], [3.0, 2.0], [float("nan")] * 3, [2.0, float("inf"), 1.0], [0.5] * 1000])
def test_a_curve_of_any_length_is_drawn(values):
    svg = curve_svg(values, "c")
    assert Page(svg).open == []
    assert "nan" not in svg.lower()
