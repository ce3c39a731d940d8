"""Of which pictures a statement is true."""

from litotes.data.claims import Claim, name_words, overlapping, truth


def table(claims, objects):
    found = truth(claims, objects)
    return [
        ["true" if t else "false" if f else "open" for t, f in zip(*rows, strict=True)]
        for rows in zip(found.true, found.false, strict=True)
    ]


def test_true_and_false_by_what_is_there():
    claims = [Claim(("cat",), ()), Claim((), ("cat",)), Claim(("cat", "dog"), ()), Claim(("dog",), ("cat",))]
    assert table(claims, [("cat",), ("cat", "dog"), ("dog",), ("owl",)]) == [
        ["true", "false", "false", "false"],
        ["true", "false", "true", "false"],
        ["false", "true", "false", "true"],
        ["false", "true", "false", "false"],
    ]


def test_a_thing_that_may_be_there_leaves_the_claim_open():
    claims = [Claim(("tree",), ()), Claim((), ("tree",)), Claim(("tree", "cat"), ()), Claim(("cat",), ("tree",))]
    assert table(claims, [("christmas tree",), ("christmas tree", "cat")]) == [
        ["open", "open", "false", "false"],  # no cat: false whatever the tree is
        ["open", "open", "open", "open"],
    ]
    assert table([Claim((), ("dogs",))], [("a dog",)]) == [["open"]]


def test_the_sort_of_a_claim():
    assert [Claim(("a",), ()).sort, Claim((), ("a",)).sort, Claim(("a",), ("b",)).sort] == [1, 2, 3]


def test_names_overlap_where_one_has_all_words_of_the_other():
    names = ["tree", "christmas tree", "apple tree", "cat", "the trees"]
    assert sorted(overlapping(names)) == sorted(
        (i, j)
        for i, x in enumerate(names)
        for j, y in enumerate(names)
        if name_words(x) <= name_words(y) or name_words(y) <= name_words(x)
    )
    assert (1, 2) not in overlapping(names)
