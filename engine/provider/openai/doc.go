// Package openai speaks chat completions, on the vendor's SDK: to OpenAI and to
// every server that speaks its dialect (OpenRouter, xAI, Mistral, Ollama, vLLM,
// llama.cpp), by base URL.
//
// Decided here: the wire format in both directions, what of a stream is a whole
// reply and what is a broken one, the bounds on what a server may send, and the
// known servers' addresses ([Known]).
//
// Not decided here: retries (the SDK's are off; see provider.Retry), where keys
// come from, and what a failure is called (provider.Classify). Calls always
// stream. Reasoning text that some servers send beside the answer is not part
// of the reply; its tokens are counted. Images are out of scope.
package openai
