"""R@K, R-Precision and mAP@R of one ranked list, as plain loops over the definitions."""


def recall_at(ranked, relevant, k):
    return float(any(item in relevant for item in ranked[:k]))


def r_precision(ranked, relevant):
    depth = len(relevant)
    return sum(item in relevant for item in ranked[:depth]) / depth


def average_precision_at_r(ranked, relevant):
    depth = len(relevant)
    total = 0.0
    for place in range(1, min(depth, len(ranked)) + 1):
        if ranked[place - 1] in relevant:
            hits = 0
            for item in ranked[:place]:
                hits += item in relevant
            total += hits / place
    return total / depth


def means(ranked, relevant, ks):
    queries = [query for query in relevant if relevant[query]]

    def mean(measure, *more):
        return sum(measure(ranked[query], set(relevant[query]), *more) for query in queries) / len(queries)

    return {k: mean(recall_at, k) for k in ks}, mean(r_precision), mean(average_precision_at_r)
