"""A small set in the form of eccv_caption's data, and captions in the forms that go with it."""

import json
import random

import numpy as np


def write_judgements(folder, seed=0):
    """The seven files: ten images of two captions, in five folds; more right items by CxC and ECCV, one of them a
    caption that is not there."""
    draw = random.Random(seed)
    images = draw.sample(range(100, 999), 10)
    captions = draw.sample(range(1000, 9999), 20)
    own = {image: captions[2 * at : 2 * at + 2] for at, image in enumerate(images)}
    more = {image: [*own[image], *draw.sample([c for c in captions if c not in own[image]], 3)] for image in images}
    judged = {
        "original": (own, {c: [i] for i in images for c in own[i]}),
        "cxc": (more, {c: [i for i in images if c in more[i]] for c in captions[1:]}),
        "eccv": (
            {i: more[i] for i in images[3:8]} | {images[0]: [*more[images[0]], 99999]},
            {c: [i for i in images if c in more[i]] for c in captions[::3]},
        ),
    }
    for name, (i2t, t2i) in judged.items():
        (folder / f"{name}_image_to_caption.json").write_text(json.dumps(i2t))
        (folder / f"{name}_caption_to_image.json").write_text(json.dumps(t2i))
    np.save(folder / "coco_test_ids.npy", np.array(captions))
    return images, captions, judged


def text_of(image, number):
    return f"caption {number} of {image}"


def karpathy(images, captions, extra=()):
    """dataset_coco.json over these, with a picture of another split; ``extra``: (image, caption id) nobody judged."""
    sentences = {image: [(c, text_of(image, n)) for n, c in enumerate(captions[2 * i : 2 * i + 2])]
                 for i, image in enumerate(images)}  # fmt: skip
    for image, caption in extra:
        sentences[image].append((caption, "one more"))
    records = [
        {"filepath": "val2014", "filename": f"{image:06d}.png", "split": "test", "cocoid": image, "imgid": i,
         "sentids": [c for c, _ in told], "sentences": [{"sentid": c, "raw": text, "imgid": i} for c, text in told]}
        for i, (image, told) in enumerate(sentences.items())
    ]  # fmt: skip
    return {"dataset": "coco", "images": [{"split": "train", "cocoid": 5, "filepath": "train2014"}, *records]}
