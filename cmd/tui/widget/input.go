package widget

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
)

// NewInput is a line that is written after a prompt: at most so many characters, on a
// screen so wide.
func NewInput(prompt, value string, most, width int) textinput.Model {
	input := textinput.New()
	input.Prompt, input.CharLimit = prompt, most
	input.KeyMap.Paste.SetEnabled(false)      // it would start programs; what a terminal pastes comes as keys
	input.Cursor.SetMode(cursor.CursorStatic) // nothing is painted while nothing happens
	input.SetValue(value)
	input.Focus()
	Refit(&input, width)
	return input
}

// Refit shows the part of a line around its cursor that a screen so wide has room for.
func Refit(input *textinput.Model, width int) {
	at := input.Position()
	input.Width = max(width-len(input.Prompt)-2, 1) // the cursor may stand behind the end
	input.CursorStart()                             // the part that is shown follows the cursor only when that leaves it
	input.SetCursor(at)
}
