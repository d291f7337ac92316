package lossfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Image is what a disk holds after a power failure: the content of each file by its name.
type Image map[string][]byte

// Survival says what is on the disk beside what was synced. The zero value drops everything else.
type Survival struct {
	// Chance is the probability with which each change that was not synced, of content or of a name, survives by itself:
	// disks write in any order.
	Chance float64
	// Torn lets each sector of a write survive by itself.
	Torn bool
	// Seed decides which: the same operations with the same seed give the same image.
	Seed uint64
}

// sector is the least that a disk writes at once, in bytes.
const sector = 512

// Drawn counts what had not been synced: truncations, names, and writes, or, where these may be torn, their sectors.
type Drawn struct{ Of, Survived int }

// Image returns what would be on the disk if the power failed now.
func (v *Volume) Image(s Survival) Image {
	image, _ := v.Draw(s)
	return image
}

// Draw is Image, and says how much there was to draw from.
func (v *Volume) Draw(s Survival) (Image, Drawn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	lot := rand.New(rand.NewPCG(s.Seed, 0)) //nolint:gosec // a draw that can be repeated, and no secret
	var drawn Drawn
	survives := func() bool {
		drawn.Of++
		if s.Chance == 0 || lot.Float64() >= s.Chance {
			return false
		}
		drawn.Survived++
		return true
	}
	names := maps.Clone(v.disk)
	for _, n := range v.namings {
		switch {
		case !survives():
		case n.file == nil:
			delete(names, n.name)
		default:
			names[n.name] = n.file
		}
	}
	image := Image{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		content := slices.Clone(names[name].disk)
		for _, c := range names[name].pending {
			for _, part := range c.parts(s.Torn) {
				if survives() {
					content = part.apply(content)
				}
			}
		}
		image[name] = content
	}
	return image, drawn
}

// parts splits a write at the boundaries of sectors.
func (c change) parts(torn bool) []change {
	if c.truncate || !torn {
		return []change{c}
	}
	var parts []change
	for data, offset := c.data, c.offset; len(data) > 0; {
		n := min(sector-offset%sector, int64(len(data)))
		parts = append(parts, change{offset: offset, data: data[:n]})
		data, offset = data[n:], offset+n
	}
	return parts
}

// Save writes the image into an empty directory, as plain files.
func (i Image) Save(dir string) error {
	for name, content := range i {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("image of a lossy volume: %w", err)
		}
	}
	return nil
}
