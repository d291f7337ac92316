package comparison

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// HashEvidence is the SHA-256, in lower-case hex, over the names and contents of all files below dir in the order of their
// names. It does not depend on how the files are packed.
func HashEvidence(dir string) (string, error) {
	sum := sha256.New()
	err := eachFile(dir, func(name string, content []byte) error {
		inner := sha256.Sum256(content)
		_, err := fmt.Fprintf(sum, "%x %s\n", inner, name)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Pack writes the evidence below dir as a gzipped tar archive whose bytes depend on nothing but names and contents: sorted
// names, no times, no owners. It returns HashEvidence of what it packed.
func Pack(dir string, w io.Writer) (string, error) {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	archive := tar.NewWriter(zip)
	err = eachFile(dir, func(name string, content []byte) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(content)
		return err
	})
	if err := errors.Join(err, archive.Close(), zip.Close()); err != nil {
		return "", fmt.Errorf("pack evidence of %s: %w", dir, err)
	}
	return HashEvidence(dir)
}

// maxUnpacked bounds what Unpack writes, in bytes: a whole run is two orders of magnitude smaller.
const maxUnpacked = 1 << 30

// Unpack writes the files of a packed run below dir, which should be empty. It refuses names that leave dir and anything
// that is not a plain file.
func Unpack(r io.Reader, dir string) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("evidence archive is not gzip: %w", err)
	}
	archive := tar.NewReader(io.LimitReader(zip, maxUnpacked))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("evidence archive: %w", err)
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			return fmt.Errorf("evidence archive has an entry %q that is not a plain file inside it", header.Name)
		}
		target := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return fmt.Errorf("evidence archive, %s: %w", header.Name, err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
}

// eachFile visits the regular files below dir in the order of their names, with slashes.
func eachFile(dir string, visit func(name string, content []byte) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() || strings.HasPrefix(filepath.Base(name), ".") {
			return fmt.Errorf("%s is not evidence: only plain files lie there", name)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name), content)
	})
}
