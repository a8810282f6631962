// Package scripted is a provider whose models read their replies from a YAML
// script: for demos, dry runs, tests and oracle agents.
//
// Decided here: the script's format, which reply a call gets, and that the same
// calls always get the same replies. Not decided here: where scripts are found
// (cmd opens files and embedded ones) and what a trial does with a reply.
//
// # Format
//
//	default:                   # replies of every case without its own, in order
//	  - text: "4"
//	    usage: {input_tokens: 12, output_tokens: 3}
//	cases:
//	  fizzbuzz:                # a case key
//	    - tool_calls: [{name: write_file, arguments: {path: a.py, content: "x"}}]
//	    - delay_ms: 20
//	      tool_calls: [{name: submit, arguments: {answer: done}}]
//	  flaky:
//	    - error: {code: rate_limit, message: slow down, retry_after_ms: 50}
//	    - text: fine
//	end: error                 # running out of replies is an error
//	judges: [{text: "..."}]    # lists of their own, see [NewJudge] and
//	simulators: [{echo: true}] # [NewSimulator]
//
// cases may also be a list, and so may judges and simulators be of the same
// entries; the first that matches a call is used, and default when none does:
//
//	cases:
//	  - case: fizzbuzz
//	    replies: [...]
//	  - when: {system: pirate, user: "2+2"}
//	    replies: [...]
//	    end: error
//
// A list may be drawn: by the run's seed, the case and the repetition each trial
// has one branch, for all its calls and attempts. draw stands in the place of
// replies, or at the top in that of default; the chances come to 1:
//
//	draw:
//	  - {p: 0.9, replies: [{text: right}]}
//	  - {p: 0.1, replies: [{text: wrong}]}
//
// All parts of a when must hold: a system message, a user message, or one of
// the latest tool results contains the text. It is looked at for every call, so
// a tool's result can choose what follows.
//
// A reply has text (or echo: true, the last user message), tool_calls, or both;
// or an error with a code of provider.Codes and nothing else. finish_reason is
// tool_calls with tool calls and stop without, unless it says otherwise.
// Arguments are a mapping, or a text that is sent as it stands, broken JSON
// included. No usage means that the usage is unknown.
//
// The position in a list belongs to the trial (agent, case, repetition): a
// call that is tried again and a later attempt of the trial go on in it. The
// last reply repeats, or with end: error the call fails as an invalid request;
// end stands at the top for all lists, beside an entry's replies, or with or
// after a list's last reply.
package scripted
