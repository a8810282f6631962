-- A dump of the shop's database with a few rows, to try a query on.
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  country TEXT NOT NULL,        -- two letters
  referred_by INTEGER REFERENCES customers (id)
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  category TEXT                 -- NULL: not sorted in yet
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  placed_on TEXT NOT NULL,      -- YYYY-MM-DD
  status TEXT NOT NULL          -- open, paid or cancelled
);
CREATE TABLE order_lines (
  order_id INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity INTEGER NOT NULL,
  unit_cents INTEGER NOT NULL,  -- the price at the time
  PRIMARY KEY (order_id, product_id)
);

INSERT INTO customers VALUES (1, 'Ines', 'PT', NULL), (2, 'Bo', 'DK', 1), (3, 'Carla', 'PT', NULL);
INSERT INTO products VALUES (1, 'Lamp', 'home'), (2, 'Desk', 'office'), (3, 'Poster', NULL);
INSERT INTO orders VALUES
  (1, 1, '2025-01-10', 'paid'),
  (2, 2, '2025-01-28', 'open'),
  (3, 1, '2025-02-02', 'paid');
INSERT INTO order_lines VALUES (1, 1, 2, 2500), (1, 2, 1, 18000), (2, 1, 1, 2600), (3, 1, 1, 2600);
