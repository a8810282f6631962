def test_nine(app):
    return app.line_total(124, 9)


def test_ten(app):
    return app.line_total(124, 10)


def test_eleven(app):
    return app.line_total(124, 11)


def test_several(app):
    return app.cart_total([(199, 10), (37, 6)])


def test_nothing(app):
    return app.cart_total([])
