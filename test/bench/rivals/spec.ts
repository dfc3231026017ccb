/** All that a plain gateway is told on its command line: `<file> <listener> <JSON of upstreams> <era>`. */
export interface Spec {
  readonly listener: 'http' | 'stdio'
  readonly upstreams: Readonly<
    Record<string, { readonly url: string } | { readonly command: string; readonly args: string[] }>
  >
  readonly era: 'legacy' | 'modern'
}

export function readSpec([listener, upstreams = '{}', era]: readonly string[]): Spec {
  return {
    listener: listener === 'stdio' ? 'stdio' : 'http',
    upstreams: JSON.parse(upstreams) as Spec['upstreams'],
    era: era === 'modern' ? 'modern' : 'legacy',
  }
}

/** The upstream a prefixed name belongs to, and its name there. */
export function split(name: string): readonly [upstream: string, name: string] {
  const at = name.indexOf('__')
  return [name.slice(0, at), name.slice(at + 2)]
}
