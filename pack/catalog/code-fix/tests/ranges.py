def test_inside(app):
    return app.merge([(4, 12), (5, 6), (7, 9)])


def test_touching(app):
    return app.merge([(1, 3), (3, 5), (5, 7)])


def test_any_order(app):
    return app.merge([(8, 9), (4, 6), (9, 11), (2, 5)])


def test_apart(app):
    return app.merge([(3, 4), (1, 2)])


def test_chain(app):
    return app.merge([(0, 9), (1, 20), (2, 4), (8, 15)])


def test_nothing(app):
    return app.merge([])


def test_hours(app):
    return app.booked_hours([(10, 18), (9, 12), (20, 22), (21, 24)])


def test_given_list(app):
    bookings = [(5, 6), (1, 2)]
    app.merge(bookings)
    return bookings
