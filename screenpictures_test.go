package main_test

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"
)

// A theme is the colours of a terminal: the sixteen that programs name, and its own.
type theme struct {
	text, ground string
	colors       [16]string
}

var (
	dark = theme{"#d4d7dd", "#16181d", [16]string{
		"#3a3f4b", "#f2777a", "#7fc98b", "#e5b567", "#6fa8dc", "#c58bd8", "#5fc4c8", "#c8ccd4",
		"#737a88", "#ff8f92", "#9be3a6", "#ffd083", "#8cc4f5", "#dca6ee", "#7fe0e4", "#ffffff"}}
	light = theme{"#24292f", "#ffffff", [16]string{
		"#24292f", "#b3261e", "#1a7f37", "#8a5a00", "#0a53a8", "#7a3e9d", "#0b7285", "#d0d7de",
		"#57606a", "#d13b32", "#2c974b", "#a46c00", "#2270c8", "#9354b8", "#12909f", "#f6f8fa"}}
)

// css is a colour as pages write it, otherwise where a cell names none.
func (th theme) css(c ansi.Color, otherwise string) string {
	switch c := c.(type) {
	case nil:
		return otherwise
	case ansi.BasicColor:
		return th.colors[c]
	}
	v := color.NRGBAModel.Convert(c).(color.NRGBA)
	return fmt.Sprintf("#%02x%02x%02x", v.R, v.G, v.B)
}

// look is a cell's style in a page.
func (th theme) look(s cellbuf.Style) string {
	text, ground := th.css(s.Fg, th.text), th.css(s.Bg, "")
	if s.Attrs.Contains(cellbuf.ReverseAttr) {
		text, ground = th.css(s.Bg, th.ground), th.css(s.Fg, th.text)
	}
	css := "color:" + text
	if ground != "" {
		css += ";background:" + ground
	}
	if s.Attrs.Contains(cellbuf.BoldAttr) {
		css += ";font-weight:bold"
	}
	if s.Attrs.Contains(cellbuf.FaintAttr) {
		css += ";opacity:.6"
	}
	if s.Attrs.Contains(cellbuf.ItalicAttr) {
		css += ";font-style:italic"
	}
	if s.UlStyle != cellbuf.NoUnderline {
		css += ";text-decoration:underline"
	}
	return css
}

const (
	cellWidth, cellHeight = 8.4, 17 // of the font below, so that lines of boxes meet
	edge                  = 12
)

// page is a terminal as a page: each character stands in its own cell.
func (th theme) page(shown string, columns, rows int) string {
	cells := cellbuf.NewBuffer(columns, rows)
	cellbuf.SetContent(cells, strings.TrimRight(shown, "\n"))
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="en" data-ready><meta charset="utf-8"><title>terminal</title><style>
html,body{margin:0;background:%s}
body{position:relative;font:14px/%dpx "DejaVu Sans Mono",monospace;font-variant-ligatures:none}
i{position:absolute;font-style:normal;white-space:pre;height:%dpx;overflow:hidden}
</style>`, th.ground, cellHeight, cellHeight)
	for y := range rows {
		for x := range columns {
			c := cells.Cell(x, y)
			if c == nil || c.Width == 0 || c.String() == " " && c.Style.Bg == nil && !c.Style.Attrs.Contains(cellbuf.ReverseAttr) {
				continue
			}
			fmt.Fprintf(&b, `<i style="left:%.1fpx;top:%dpx;width:%.1fpx;%s">%s</i>`, edge+float64(x)*cellWidth, edge+y*cellHeight,
				float64(c.Width)*cellWidth, th.look(c.Style), html.EscapeString(c.String()))
		}
	}
	return b.String()
}

// picture draws a terminal into docs/images.
func (th theme) picture(w *window, name, shown string, columns, rows int) {
	w.Helper()
	path := filepath.Join(w.TempDir(), "screen.html")
	keepText(w.T, path, th.page(shown, columns, rows))
	w.visit("file://" + path)
	raw := w.cut(2*edge+float64(columns)*cellWidth, 0, 2*edge+float64(rows)*cellHeight)
	small, err := th.fewColors(raw)
	if err != nil {
		w.Fatal(err)
	}
	w.keepPicture(name, small)
	w.alone("file://" + path)
}

// palette is the ground, and each colour on it in the strengths that the edges of
// letters have.
func (th theme) palette() color.Palette {
	ground := rgb(th.ground)
	colors := color.Palette{ground}
	const strengths = 15
	for _, name := range append(th.colors[:], th.text) {
		c := rgb(name)
		for i := range strengths {
			mix := func(a, b uint8) uint8 { return uint8((int(a)*(strengths-1-i) + int(b)*(i+1)) / strengths) }
			colors = append(colors, color.RGBA{mix(ground.R, c.R), mix(ground.G, c.G), mix(ground.B, c.B), 255})
		}
	}
	return colors
}

func rgb(css string) color.RGBA {
	c := color.RGBA{A: 255}
	if _, err := fmt.Sscanf(css, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		panic(err)
	}
	return c
}

// fewColors is a picture in the colours of a palette: a third of the size.
func (th theme) fewColors(raw []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	to := image.NewPaletted(from.Bounds(), th.palette())
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
