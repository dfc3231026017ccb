import { fileURLToPath } from 'node:url'
import { isObject } from '../../../src/plugin.ts'

const MAX_PATHS = 256
const MAX_PATH = 4096
const MAX_DEPTH = 4
/** Stands for what could not be listed: no rule about a directory holds for it. */
const EVERYWHERE = '/'

/** Keys of an agent's own input that hold paths: `path`, `file_path`, `filePath`, `paths`, `target_file` … */
const PATH_KEY = /^(.*[_a-z])?(path|file|filename|dir|directory|folder|source|destination)s?$/i

/** Collects the paths that a tool call is about, each once, as the agent wrote them. */
export class PathList {
  readonly #found = new Set<string>()

  get paths(): readonly string[] {
    return [...this.#found]
  }

  add(value: unknown): void {
    if (typeof value !== 'string' || value === '') return
    const isListed = value.length <= MAX_PATH && this.#found.size < MAX_PATHS
    this.#found.add(isListed ? plain(value) : EVERYWHERE)
  }

  /** From `locations`, and content of type `diff`: objects with a `path`. */
  addEach(list: unknown): void {
    if (!Array.isArray(list)) return
    for (const each of list.slice(0, MAX_PATHS + 1)) if (isObject(each)) this.add(each.path)
    if (list.length > MAX_PATHS) this.#found.add(EVERYWHERE)
  }

  /** From whatever the tool of the agent was given. */
  addInput(input: unknown, depth = 0): void {
    if (typeof input !== 'object' || input === null) return
    if (depth > MAX_DEPTH) return void this.#found.add(EVERYWHERE)
    for (const [key, value] of Object.entries(input)) {
      // Some agents give a map from path to change.
      if (key.startsWith('/')) this.add(key)
      if (PATH_KEY.test(key)) for (const each of Array.isArray(value) ? value : [value]) this.add(each)
      this.addInput(value, depth + 1)
    }
  }
}

function plain(path: string): string {
  if (!path.startsWith('file://')) return path
  try {
    return fileURLToPath(path)
  } catch {
    return path
  }
}
