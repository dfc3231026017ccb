import { finish } from './finish.ts'
import type { LoadedConfig } from './finish.ts'
import { invalidConfig, problemAt } from './problem.ts'
import { treeOf } from './source/tree.ts'

/** Takes a configuration that is already plain data: the same checks as for a file, no placeholders, no positions. */
export function parseConfig(value: unknown, { directory }: { readonly directory: string }): LoadedConfig {
  const tree = treeOf(value, { from: 'value' })
  if (tree?.kind !== 'map')
    throw refusal('', 'expected plain data', 'give an object of texts, numbers, booleans, lists and objects')
  if (tree.entries.has('extends'))
    throw refusal('/extends', 'only a file can extend others', 'merge the objects before')
  return finish({ tree, file: undefined, files: [], directory, secrets: [], broken: new Set(), problems: [] })
}

function refusal(pointer: string, message: string, hint: string): Error {
  return invalidConfig([problemAt(undefined, { pointer, message, hint })])
}
