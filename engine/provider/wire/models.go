package wire

import (
	"cmp"
	"slices"

	"github.com/agentclash/agentclash/engine/provider"
)

// Models puts a list of models into the order and within the bounds that
// [provider.Lister] promises. What has no usable name is left out.
func Models(list []provider.ModelInfo) []provider.ModelInfo {
	list = slices.DeleteFunc(list, func(m provider.ModelInfo) bool { return m.ID == "" || len(m.ID) > MaxNameBytes })
	slices.SortFunc(list, func(a, b provider.ModelInfo) int { return cmp.Compare(a.ID, b.ID) })
	list = slices.CompactFunc(list, func(a, b provider.ModelInfo) bool { return a.ID == b.ID })
	for i := range list {
		list[i].DisplayName = provider.Excerpt(list[i].DisplayName, MaxNameBytes)
	}
	return list[:min(len(list), provider.MaxModels)]
}
