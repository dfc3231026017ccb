/** Variables that make a program load code; a child gets them only where its own `env` says so. */
const LOADERS =
  /^(LD_|DYLD_|GCONV_PATH$|NODE_OPTIONS$|NODE_PATH$|PYTHONPATH$|PYTHONSTARTUP$|PYTHONHOME$|RUBYOPT$|RUBYLIB$|PERL5OPT$|PERL5LIB$|BASH_ENV$|ENV$|JAVA_TOOL_OPTIONS$)/i

/** The environment of a child: what it may inherit, and what its configuration sets; nothing else. */
export function childEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  inherit: readonly string[],
  set: Readonly<Record<string, string>>,
): { env: Record<string, string>; refused: string[] } {
  const env = Object.create(null) as Record<string, string>
  const refused: string[] = []
  for (const name of inherit) {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    if (value === undefined) continue
    if (LOADERS.test(name)) refused.push(name)
    else env[name] = value
  }
  return { env: Object.assign(env, set), refused: refused.filter(name => !Object.hasOwn(set, name)) }
}

/** The variable in which every process that a gateway starts, and all that those start, carry whose they are. */
export const MARK_VARIABLE = 'TAPGATE_RUN'

/** The same environment with one more mark. `outer` are those of the gateway itself, which another one may have started. */
export function marked(
  environment: Readonly<Record<string, string>>,
  outer: string | undefined,
  mark: string,
): Record<string, string> {
  return { ...environment, [MARK_VARIABLE]: outer === undefined ? mark : `${outer} ${mark}` }
}
