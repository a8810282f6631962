-- The database that queries are judged on: the same tables as in sample.sql,
-- more rows, and in them what a hasty query trips over.
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  country TEXT NOT NULL,
  referred_by INTEGER REFERENCES customers (id)
);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  placed_on TEXT NOT NULL,
  status TEXT NOT NULL
);
CREATE TABLE order_lines (
  order_id INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity INTEGER NOT NULL,
  unit_cents INTEGER NOT NULL,
  PRIMARY KEY (order_id, product_id)
);

-- Two customers share a name; Hugo and Jana never ordered, Ewa only cancelled.
INSERT INTO customers VALUES
  (11, 'Amara', 'NG', NULL), (12, 'Bruno', 'BR', 11), (13, 'Chen', 'CN', 11), (14, 'Bruno', 'PT', NULL),
  (15, 'Ewa', 'PL', 13), (16, 'Farid', 'PT', 12), (17, 'Hugo', 'BR', NULL), (18, 'Jana', 'PL', 15);
-- A product without a category, and two that nobody ever paid for.
INSERT INTO products VALUES
  (1, 'Lamp', 'home'), (2, 'Desk', 'office'), (3, 'Poster', NULL), (4, 'Rug', 'home'), (5, 'Stapler', 'office'),
  (6, 'Vase', 'home'), (7, 'Globe', NULL);
INSERT INTO orders VALUES
  (101, 11, '2024-12-30', 'paid'), (102, 11, '2025-01-15', 'paid'), (103, 12, '2025-01-15', 'paid'),
  (104, 13, '2025-01-31', 'cancelled'), (105, 13, '2025-02-03', 'paid'), (106, 14, '2025-02-14', 'paid'),
  (107, 15, '2025-02-20', 'cancelled'), (108, 16, '2025-03-01', 'open'), (109, 16, '2025-03-02', 'paid'),
  (110, 12, '2025-03-17', 'paid'), (111, 11, '2025-03-31', 'paid'), (112, 14, '2025-05-20', 'paid'),
  (113, 13, '2025-03-06', 'open');
INSERT INTO order_lines VALUES
  (101, 1, 1, 2500), (102, 2, 1, 18000), (102, 5, 4, 900), (103, 1, 3, 2600), (103, 3, 2, 1200),
  (104, 4, 5, 9900), (105, 4, 1, 9900), (105, 5, 2, 950), (106, 3, 10, 1100), (106, 1, 1, 2600),
  (107, 6, 1, 4400), (108, 2, 1, 18500), (109, 5, 1, 950), (110, 2, 1, 18500), (111, 1, 2, 2700),
  (112, 4, 1, 10400), (112, 5, 3, 950), (113, 7, 1, 3000);
