def full(app, room, *keys):
    cache = app.Cache(room)
    for number, key in enumerate(keys):
        cache.put(key, number)
    return cache


def test_reading_keeps(app):
    cache = full(app, 2, "x", "y")
    cache.get("x")
    cache.put("z", 3)
    return cache.keys()


def test_replacing_keeps_all(app):
    cache = full(app, 2, "p", "q")
    cache.put("p", 9)
    return cache.keys()


def test_replaced_value(app):
    cache = full(app, 2, "p", "q")
    cache.put("p", 9)
    return cache.get("p")


def test_missing_key(app):
    return full(app, 2, "m").get("k", "none here")


def test_missing_key_is_no_use(app):
    cache = full(app, 3, "m", "n")
    cache.get("k", 1)
    return cache.keys()


def test_stored_none(app):
    cache = app.Cache(1)
    cache.put("k", None)
    return [len(cache.keys()), cache.get("k", "default"), "k" in cache.keys()]


def test_room_for_one(app):
    return full(app, 1, "first", "second").keys()
