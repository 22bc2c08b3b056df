// What kind of text this is: classify_text "some text"
#include <cstdio>
#include <string_view>
#include <vector>

#include <text_classifier.h>

int main(int argc, char** argv) {
  text_classifier_model model;  // keeps its arena, which grows with the longest text
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    std::vector<int32_t> bytes;
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    float probabilities[4];
    text_classifier_results results = {probabilities};
    const int32_t code = model.Run({static_cast<int64_t>(bytes.size())}, {bytes.data()}, results);
    if (code != 0) return std::fprintf(stderr, "%s\n", model.Message(code)), 1;
    std::printf("%.20s:", argv[i]);
    for (const float p : probabilities) std::printf(" %.4f", static_cast<double>(p));
    std::printf("\n");
  }
  return 0;
}
