/** Parts of a process that commands use: `process` itself, or a stand-in if a command runs inside another program. */
export type Host = Pick<
  NodeJS.Process,
  | 'stdin'
  | 'stdout'
  | 'stderr'
  | 'env'
  | 'argv'
  | 'execPath'
  | 'pid'
  | 'platform'
  | 'versions'
  | 'cwd'
  | 'exit'
  | 'on'
  | 'once'
  | 'off'
  | 'emit'
>
