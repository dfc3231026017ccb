import type { Feature } from './check.ts'
import { finish } from './finish.ts'
import type { LoadedConfig } from './finish.ts'
import { invalidConfig, problemAt, type Problem } from './problem.ts'
import { gatherSections } from './source/sections.ts'
import { treeOf } from './source/tree.ts'

/** Takes a configuration that is already plain data: the same checks as for a file, no placeholders, no positions. */
export function parseConfig(
  value: unknown,
  { directory, features = [] }: { readonly directory: string; readonly features?: readonly Feature[] },
): LoadedConfig {
  const tree = treeOf(value, { from: 'value' })
  if (tree?.kind !== 'map')
    throw refusal('', 'expected plain data', 'give an object of texts, numbers, booleans, lists and objects')
  if (tree.entries.has('extends'))
    throw refusal('/extends', 'only a file can extend others', 'merge the objects before')
  const problems: Problem[] = []
  const sectioned = gatherSections(tree, problem => problems.push(problem))
  return finish({
    ...sectioned,
    ...{ file: undefined, files: [], directory, features },
    ...{ secrets: [], broken: new Set<string>(), problems },
  })
}

function refusal(pointer: string, message: string, hint: string): Error {
  return invalidConfig([problemAt(undefined, { pointer, message, hint })])
}
