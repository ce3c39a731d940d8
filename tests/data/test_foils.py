import json

import numpy as np
import pytest
from PIL import Image

from litotes.data.crops import Crops
from litotes.data.foils import read_negrefcocog, read_sugarcrepe, read_valse
from litotes.data.images import ArrayPictures
from litotes.errors import UserError


def valse(caption="There are no dogs.", votes=2, **changes):
    record = {"dataset": "visual7w", "image_file": "v7w_1.jpg", "caption": caption, "foil": "There are dogs."}
    return {**record, "mturk": {"caption": votes, "foil": 0, "other": 3 - votes}, **changes}


def crepe(caption="a dog", **changes):
    return {"filename": "1.jpg", "caption": caption, "negative_caption": "a cat", **changes}


def box_record(**changes):
    boxes = [[0, 0, 2, 2], [1.5, 0, 2, 3]]
    return {"image": "1.jpg", "phrase": "the one without a hat", "ref_bbox": boxes[0], "bbox_list": boxes, **changes}


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_valse_counts_the_valid_records_apart(tmp_path):
    read = read_valse(written(tmp_path / "v.json", {"a": valse(votes=3), "b": valse(votes=1), "c": valse(" none ", 2)}))
    assert read.groups == {"all": (0, 1, 2), "valid": (0, 2)}
    assert read.image_paths == ("v7w_1.jpg",) * 3
    assert (read.captions[2], read.foils[0], read.rewordings) == (" none ", "There are dogs.", None)


def test_a_folder_of_splits_is_one_benchmark(tmp_path):
    written(tmp_path / "swap_obj.json", {"0": crepe("x"), "7": crepe("y")})
    written(tmp_path / "add_att.json", {"0": crepe("z")})
    read = read_sugarcrepe(tmp_path)
    assert read.groups == {"add_att": (0,), "swap_obj": (1, 2)}
    assert read.captions == ("z", "x", "y")
    assert read_sugarcrepe(tmp_path / "swap_obj.json").groups == {"swap_obj": (0, 1)}


def test_a_list_with_second_captions_is_sugarcrepe_plus_plus(tmp_path):
    rows = [crepe(id=0, caption2="one dog"), crepe(id=1, caption2="a hound")]
    read = read_sugarcrepe(written(tmp_path / "swap_att.json", rows))
    assert read.rewordings == ("one dog", "a hound")
    written(tmp_path / "swap_obj.json", {"0": crepe()})
    with pytest.raises(UserError, match="both objects and lists"):
        read_sugarcrepe(tmp_path)


def test_the_true_box_comes_first_wherever_it_stands(tmp_path):
    swapped = box_record(bbox_list=[[1.5, 0, 2, 3], [0, 0, 2, 2]])
    read = read_negrefcocog(written(tmp_path / "n.json", [box_record(), swapped]))
    assert read.boxes == (((0, 0, 2, 2), (1.5, 0, 2, 3)),) * 2
    assert read.phrases == ("the one without a hat",) * 2


def without(record, field):
    return {key: value for key, value in record.items() if key != field}


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (read_valse, '{"a": 1, "a": 2}', "a key stands twice"),
        (read_valse, '{"a": NaN}', "NaN is not JSON"),
        (read_valse, "__import__('os')", "v.json"),
        (read_valse, [], "expected: an object id -> record"),
        (read_valse, {}, "no records"),
        (read_valse, {"a": valse(), "b": without(valse(), "foil")}, "id 'b' without foil"),
        (read_valse, {"a": valse(), "b": valse(caption="  ")}, "id 'b': caption is '  '"),
        (read_valse, {"a": valse(foil=None)}, "id 'a': foil is 'None'"),
        (read_valse, {"a": valse(foil="\ud800")}, r"id 'a': foil is '\\ud800'"),
        (read_valse, {"a": valse(mturk={"caption": True})}, "id 'a' without mturk.caption"),
        (read_valse, {"a": valse(), "b": without(valse(), "mturk")}, "id 'b' without mturk.caption"),
        (read_valse, {"a": "text"}, "id 'a' is text"),
        (read_sugarcrepe, {"a": without(crepe(), "filename")}, "id 'a' without filename"),
        (read_sugarcrepe, [crepe(id=3, caption2="x"), crepe(id=3, caption2="y")], "row 2 has the id 3 of row 1"),
        (read_sugarcrepe, [crepe(id=3)], "row 1 without caption2"),
        (read_sugarcrepe, "3", "no records"),
        (read_negrefcocog, {"a": box_record()}, "expected: a list of records"),
        (read_negrefcocog, [box_record(), without(box_record(), "phrase")], "row 2 without phrase"),
        (read_negrefcocog, [box_record(bbox_list=[[0, 0, 2, 2]])], "row 1: bbox_list"),
        (read_negrefcocog, [box_record(ref_bbox=[0, 0, 2, 3])], "row 1: ref_bbox"),
        (read_negrefcocog, [box_record(ref_bbox=[0, 0, 0.2, 3])], "row 1: box"),
        (read_negrefcocog, [box_record(ref_bbox=[0, 0, "2", 3])], "row 1: box"),
        (read_negrefcocog, [box_record(bbox_list=[[0, 0, 2, 2]] * 2)], "row 1: ref_bbox"),
    ],
)
def test_a_faulty_record_is_refused_with_its_place(reader, content, message, tmp_path):
    with pytest.raises(UserError, match=message):
        reader(written(tmp_path / "v.json", content))


def test_a_folder_without_splits_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"without \.json files"):
        read_sugarcrepe(tmp_path)


def test_crops_are_the_pixels_of_the_boxes():
    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(1, 4, 5, 3)
    whole = ArrayPictures(pixels, ["p.png"])
    twice = ArrayPictures(np.concatenate([pixels, pixels]), ["p.png", "p.png"])
    crops = Crops(twice, [(1.0, 0.0, 2.4, 3.0), (3.0, 2.0, 3.0, 2.0)])
    assert np.array_equal(np.asarray(crops[0]), pixels[0, 0:3, 1:3])
    assert np.array_equal(np.asarray(crops[1]), pixels[0, 2:4, 3:5])  # one pixel beyond the right edge
    assert crops.name(0) == "p.png [1.0, 0.0, 2.4, 3.0]"
    assert len({crops.digest(0), crops.digest(1), whole.digest(0)}) == 3
    for box in ((3.0, 0.0, 4.0, 2.0), (9.0, 9.0, 2.0, 2.0), (-2.0, 0.0, 4.0, 2.0)):
        with pytest.raises(UserError, match="outside a picture of 5 x 4"):
            Crops(whole, [box])[0]
    assert isinstance(crops[0], Image.Image)
