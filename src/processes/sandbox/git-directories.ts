import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'

/**
 * The repository of a git worktree, without which git does nothing there. Only where the repository says that the worktree
 * is its own: what runs in a worktree can write the file that names the repository.
 */
export function repositoryOf(directory: string): string[] {
  try {
    const [, named] = /^gitdir: (.+)/.exec(readFileSync(path.join(directory, '.git'), 'utf8')) ?? []
    if (named === undefined) return []
    const own = realpathSync(path.resolve(directory, named))
    const back = realpathSync(readFileSync(path.join(own, 'gitdir'), 'utf8').trim())
    const isOwn = back === realpathSync(path.join(directory, '.git'))
    const worktrees = path.dirname(own)
    return isOwn && path.basename(worktrees) === 'worktrees' ? [path.dirname(worktrees)] : []
  } catch {
    return []
  }
}
