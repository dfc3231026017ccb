import type { Source } from './sources.ts'

/** Every ring of files that need each other to load, as one text per ring. */
export function findCycles(sources: readonly Source[]): string[] {
  const next = new Map(sources.map(source => [source.file, targets(source)]))
  const done = new Set<string>()
  const cycles: string[] = []

  const walk = (file: string, path: readonly string[]): void => {
    const seen = path.indexOf(file)
    if (seen >= 0) cycles.push([...path.slice(seen), file].join(' → '))
    if (seen >= 0 || done.has(file)) return
    for (const target of next.get(file) ?? []) walk(target, [...path, file])
    done.add(file)
  }
  for (const { file } of sources) walk(file, [])
  return cycles
}

function targets({ imports }: Source): string[] {
  return imports.filter(({ own, typeOnly, lazy }) => own && !typeOnly && !lazy).map(({ to }) => to)
}
