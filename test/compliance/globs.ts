/** Says whether `name` is what `glob` says, where `*` stands for anything. */
export function matches(glob: string, name: string): boolean {
  const literal = glob.split('*').map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${literal.join('.*')}$`).test(name)
}
