# Makes the world that the examples of help are run in, with agentclash itself. It
# stands in the project's directory; $WORLD is the directory around it.
set -eu

# somebody else's machine, from which bundles come
there() { AGENTCLASH_HOME="$WORLD/elsewhere" agentclash "$@" --quiet >"$WORLD/said" 2>&1; }
# failed runs are part of the world: their status is looked at by those who want them
here() { agentclash "$@" >"$WORLD/said" 2>&1 || { cat "$WORLD/said"; return 1; }; }

there eval start --pack my-pack.yaml --model scripted/next.yaml --name colleagues-run
there run export colleagues-run run.acb
mkdir shards
for n in 1 2 3; do
	there eval start --pack my-pack.yaml --model scripted/next.yaml --name nightly --shard $n/3
	there run export latest shard-$n.acb
	cp shard-$n.acb shards
done
rm -r "$WORLD/elsewhere"

# what agents are made of
here build create --name reviewer --description 'reviews changes'
here build version create reviewer --template code-reviewer
here infra provider-account create --name lab --provider openai --base-url "$LAB/v1"
here infra model-alias create --alias-key fast --model openai/gpt-4.1-mini
here infra runtime-profile create --name small --max-iterations 10 --run-timeout 300
here infra spend-policy create --name daily --window day --limit-usd 20
here deployment create --name prod --model scripted/prod.yaml
here deployment create --name next --model scripted/next.yaml
here deployment create --name gpt --model scripted/gpt.yaml
here deployment create --name talker --model scripted/talker.yaml
echo sk-of-the-store-0123456789 | here secret set OPENAI_API_KEY

# packs, and what was run
sed 's/number: 2/number: 1/' my-pack.yaml >"$WORLD/first.yaml"
here challenge-pack publish "$WORLD/first.yaml"
here challenge-pack publish my-pack.yaml
here eval start --pack support-triage.yaml --deployment next --name triage
here eval start --pack my-pack.yaml --deployment prod --name recorded --record tapes/prod
here eval start --pack my-pack.yaml --deployment prod --name nightly --session nightly --repetitions 2 --concurrency 1
here baseline set nightly
here baseline set nightly --name main
here baseline export .agentclash/baseline.json
here baseline export main.json --name main
here eval start --pack my-pack.yaml --deployment gpt --name candidate --concurrency 1 --gate --policy gate.yaml
here eval rescore latest
here regression-suite create checkout --pack my-pack --default-gate-severity blocking
here run promote-failure latest refund-twice --suite checkout
here artifact upload notes.txt --type notes --run latest

# a repository, with a change on top of what is on the main branch
git init -q -b main --template=
git add -A
git commit -q -m 'An agent, its pack and its baseline'
git update-ref refs/remotes/origin/main HEAD
echo 'Be kind.' >>prompts/prod.md
git commit -q -a -m 'Be kind'
rm "$WORLD/said" "$WORLD/first.yaml"
