def test_second_customer(app):
    app.load([{"theme": {"colour": "red", "fonts": ["mono"]}, "limits": {"users": 90}}])
    return app.load([])


def test_counted_per_call(app):
    return [app.load([{"a": 1}, {"b": 2}])["changes"], app.load([{"c": 3}])["changes"]]


def test_deep(app):
    return app.merge({"a": {"b": {"c": 1}}}, {"a": {"b": {"d": 2}, "e": 3}})


def test_taken_away(app):
    return app.merge({"keep": 1, "drop": 2, "inner": {"drop": 3}}, {"drop": None, "inner": {"drop": None}})


def test_none_for_no_key(app):
    return app.merge({"keep": 1}, {"never": None})


def test_dict_over_number(app):
    return app.merge({"a": 5}, {"a": {"b": 1}})


def test_number_over_dict(app):
    return app.merge({"a": {"b": 1}}, {"a": 7})


def test_base_stays(app):
    base = {"a": {"b": 1}}
    app.merge(base, {"a": {"b": 2, "c": 3}, "d": 4})
    return base


def test_result_is_free(app):
    base, changes = {"list": [1]}, {"dict": {"k": [2]}}
    merged = app.merge(base, changes)
    merged["list"].append(0)
    merged["dict"]["k"].append(0)
    merged["dict"]["new"] = 0
    return {**base, **changes}
